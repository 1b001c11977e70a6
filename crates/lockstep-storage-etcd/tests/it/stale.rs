//! Members that lag behind.

use std::collections::VecDeque;

use lockstep_etcd_api::etcdserverpb::{RangeResponse, ResponseHeader, TxnResponse};
use lockstep_storage::{Consistency, Key, KeyRange, Range, Revision, Store};
use lockstep_storage_etcd::{EtcdStore, Options};
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use crate::fake::{Answer, Fake};

/// Response to an empty read at a revision.
fn at(revision: i64) -> Answer {
    let header = ResponseHeader {
        revision,
        ..ResponseHeader::default()
    };
    Answer::message(&RangeResponse {
        header: Some(header),
        ..RangeResponse::default()
    })
}

fn future() -> Answer {
    Answer::EtcdError(
        11,
        "etcdserver: mvcc: required revision is a future revision",
    )
}

/// A member that answers reads in this order.
async fn member(reads: impl IntoIterator<Item = Answer>) -> Fake {
    let reads = Mutex::new(VecDeque::from_iter(reads));
    Fake::start(move |method| match method {
        "Status" => Answer::status("3.6.0", false),
        "Txn" => Answer::message(&TxnResponse {
            header: Some(ResponseHeader::default()),
            ..TxnResponse::default()
        }),
        "Range" => reads.lock().pop_front().expect("one answer for each read"),
        other => panic!("`{other}` is not expected"),
    })
    .await
}

/// etcd-api.md §2/serializable; the contract's "not older than what was shown before".
#[test]
fn a_serializable_read_that_would_go_back_is_asked_for_again() {
    Runtime::new().unwrap().block_on(async {
        let member = member([at(10), at(9), at(11), at(12), at(11)]).await;
        let store = EtcdStore::connect(Options::new([member.url()]))
            .await
            .unwrap();
        let mut shown = Vec::new();
        for _ in 0..3 {
            shown.push(store.revision(Consistency::Serializable).await.unwrap());
        }
        assert_eq!(shown, [10, 11, 12].map(Revision));
        // A linearizable read is as new as it can be.
        let linearizable = store.revision(Consistency::Linearizable).await;
        assert_eq!(linearizable, Ok(Revision(11)));
    });
}

#[test]
fn a_member_that_does_not_know_the_revision_yet_is_no_refusal() {
    Runtime::new().unwrap().block_on(async {
        let member = member([future(), at(10)]).await;
        let store = EtcdStore::connect(Options::new([member.url()]))
            .await
            .unwrap();
        let range = Range {
            at: Some(Revision(10)),
            ..Range::new(KeyRange::single(Key::new("k").unwrap()))
        };
        let read = store.range(range, Consistency::Serializable).await;
        assert_eq!(read.unwrap().revision, Revision(10));
    });
}
