//! Lists of endpoints.

use std::net::TcpStream;

use lockstep_storage::{Consistency, Key, KeyRange, Range, Store, Unavailable};
use lockstep_storage_etcd::{ConnectError, EtcdStore, Options, OptionsError};
use tokio::runtime::Runtime;

use crate::etcd::{Member, Release, free_ports};
use crate::load::put;

fn single(key: &str) -> Range {
    Range::new(KeyRange::single(Key::new(key.to_owned()).unwrap()))
}

#[test]
fn a_dead_member_in_the_list_is_passed_over() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let member = Member::start(&program);
    let dead = format!("http://127.0.0.1:{}", free_ports(1)[0]);
    for endpoints in [
        [dead.clone(), member.url().to_owned()],
        [member.url().to_owned(), dead.clone()],
    ] {
        Runtime::new().unwrap().block_on(async {
            let store = EtcdStore::connect(Options::new(endpoints)).await.unwrap();
            let written = store.txn(put("k", "v")).await.unwrap().revision;
            let read = store.range(single("k"), Consistency::Serializable).await;
            assert_eq!(read.unwrap().kvs[0].mod_revision, written);
        });
    }
}

#[test]
fn two_clusters_are_not_one_store() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    let (mut one, other) = (Member::start(&program), Member::start(&program));
    Runtime::new().unwrap().block_on(async {
        let urls = [one.url(), other.url()].map(str::to_owned);
        let store = EtcdStore::connect(Options::new(urls)).await.unwrap();
        store.txn(put("k", "v")).await.unwrap();
        one.kill();
        let read = store.range(single("k"), Consistency::Linearizable).await;
        let error = read.unwrap_err().to_string();
        let expected = format!(
            "`{}`: belongs to another cluster than the member that was used first",
            other.url()
        );
        assert!(error.contains(&expected), "{error}");
    });
}

#[test]
fn nobody_there_is_told_with_each_reason() {
    let urls: Vec<_> = free_ports(2)
        .iter()
        .map(|port| format!("http://127.0.0.1:{port}"))
        .collect();
    let refused = Runtime::new()
        .unwrap()
        .block_on(EtcdStore::connect(Options::new(urls.clone())));
    let each = urls.iter().map(|url| {
        let refused = TcpStream::connect(url.trim_start_matches("http://"));
        format!("`{url}`: {}", refused.unwrap_err())
    });
    let reason = each.collect::<Vec<_>>().join("; ");
    let expected = ConnectError::Unavailable(Unavailable { reason });
    assert_eq!(refused.err(), Some(expected));
}

#[test]
fn an_endpoint_that_is_no_url_is_refused() {
    let refused = Runtime::new()
        .unwrap()
        .block_on(EtcdStore::connect(Options::new(["localhost:2379"])));
    let endpoint = "localhost:2379".to_owned();
    let expected = ConnectError::Options(OptionsError::BadEndpoint { endpoint });
    assert_eq!(refused.err(), Some(expected));
}
