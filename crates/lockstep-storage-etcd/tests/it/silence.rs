//! Members that accept requests and never answer.

use std::net::TcpListener;
use std::time::Duration;

use lockstep_storage::{
    Consistency, Key, KeyRange, Range, ReadFailure, Store, Unavailable, WriteFailure,
};
use lockstep_storage_etcd::{ConnectError, EtcdStore, Options, Timeouts};
use tokio::runtime::Runtime;

use crate::etcd::{Member, Release};
use crate::load::put;

/// Short, since these tests wait for them to pass.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_millis(400),
    request: Duration::from_millis(600),
};

fn options(urls: &[&str]) -> Options {
    Options {
        timeouts: TIMEOUTS,
        ..Options::new(urls.iter().copied())
    }
}

fn range() -> Range {
    Range::new(KeyRange::single(Key::new("k").unwrap()))
}

#[test]
fn a_server_that_never_answers_is_given_up_by_its_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let runtime = Runtime::new().unwrap();
    let refused = runtime.block_on(EtcdStore::connect(options(&[&url])));
    let reason = format!("`{url}`: no connection within 400ms");
    let expected = ConnectError::Unavailable(Unavailable { reason });
    assert_eq!(refused.err(), Some(expected));
    // Others in the list are used.
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let member = Member::start(&program);
    runtime.block_on(async {
        let store = EtcdStore::connect(options(&[&url, member.url()])).await;
        store.unwrap().txn(put("k", "v")).await.unwrap();
    });
}

#[test]
fn a_write_without_an_answer_is_uncertain_and_happens_once() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let member = Member::start(&program);
    Runtime::new().unwrap().block_on(async {
        let store = EtcdStore::connect(options(&[member.url()])).await.unwrap();
        store.txn(put("k", "1")).await.unwrap();
        member.freeze();
        let reason = format!("`{}`: no answer within 600ms", member.url());
        let read = store.range(range(), Consistency::Linearizable).await;
        let unavailable = Unavailable {
            reason: reason.clone(),
        };
        assert_eq!(read, Err(ReadFailure::Unavailable(unavailable)));
        let written = store.txn(put("k", "2")).await;
        assert_eq!(written, Err(WriteFailure::Uncertain { reason }));
        member.thaw();
        let third = store.txn(put("k", "3")).await.unwrap();
        let read = store
            .range(range(), Consistency::Linearizable)
            .await
            .unwrap();
        let kv = &read.kvs[0];
        assert_eq!(
            (&kv.value[..], kv.mod_revision),
            (&b"3"[..], third.revision)
        );
        assert!(
            (2..=3).contains(&kv.version),
            "the second was written once or never: {kv:?}"
        );
    });
}
