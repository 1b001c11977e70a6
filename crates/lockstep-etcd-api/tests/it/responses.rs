//! etcd-api.md §1/header; §2, answers.

use std::sync::Arc;

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::response::{
    Origin, Unexpected, delete_from_wire, put_from_wire, range_from_wire, txn_from_wire,
};
use lockstep_mvcc::{
    DeleteRangeResponse, KeyValue, LeaseId, OpResponse, PutResponse, RangeResponse, Revision,
    TxnResponse,
};

const ORIGIN: Origin = Origin {
    cluster_id: 10,
    member_id: 20,
    raft_term: 30,
};

fn pair() -> Arc<KeyValue> {
    Arc::new(KeyValue {
        key: "k".into(),
        value: "v".into(),
        create_revision: Revision(2),
        mod_revision: Revision(5),
        sub_revision: 0,
        version: 3,
        lease: LeaseId(8),
    })
}

fn answer() -> TxnResponse {
    let revision = Revision(6);
    TxnResponse {
        revision,
        succeeded: true,
        responses: vec![
            OpResponse::Range(RangeResponse {
                revision: Revision(5),
                kvs: vec![pair()],
                more: true,
                count: 9,
            }),
            OpResponse::Put(PutResponse {
                revision,
                previous: Some(pair()),
            }),
            OpResponse::DeleteRange(DeleteRangeResponse {
                revision,
                deleted: 1,
                previous: vec![pair()],
            }),
            OpResponse::Txn(TxnResponse {
                revision,
                succeeded: false,
                responses: Vec::new(),
            }),
        ],
    }
}

#[test]
fn headers_inside_a_transaction_carry_the_revision_so_far_and_nested_ones_nothing() {
    use pb::response_op::Response;
    let wire = ORIGIN.txn(&answer());
    assert_eq!(
        wire.header,
        Some(pb::ResponseHeader {
            cluster_id: 10,
            member_id: 20,
            revision: 6,
            raft_term: 30,
        })
    );
    let inner: Vec<_> = wire
        .responses
        .into_iter()
        .map(|op| match op.response.unwrap() {
            Response::ResponseRange(answer) => answer.header,
            Response::ResponsePut(answer) => answer.header,
            Response::ResponseDeleteRange(answer) => answer.header,
            Response::ResponseTxn(answer) => answer.header,
        })
        .collect();
    let only = |revision| {
        Some(pb::ResponseHeader {
            revision,
            ..pb::ResponseHeader::default()
        })
    };
    assert_eq!(inner, [only(5), only(6), only(6), only(0)]);
}

#[test]
fn what_a_server_answers_a_client_reads() {
    assert_eq!(txn_from_wire(ORIGIN.txn(&answer())), Ok(answer()));
    for op in answer().responses {
        match op {
            OpResponse::Range(answer) => {
                assert_eq!(range_from_wire(ORIGIN.range(&answer)), Ok(answer));
            }
            OpResponse::Put(answer) => assert_eq!(put_from_wire(ORIGIN.put(&answer)), Ok(answer)),
            OpResponse::DeleteRange(answer) => {
                assert_eq!(delete_from_wire(ORIGIN.delete(&answer)), Ok(answer));
            }
            OpResponse::Txn(answer) => assert_eq!(txn_from_wire(ORIGIN.txn(&answer)), Ok(answer)),
        }
    }
}

#[test]
fn an_answer_that_makes_no_sense_is_told() {
    let no_header = pb::PutResponse::default();
    let what = "a reply has no header";
    assert_eq!(put_from_wire(no_header), Err(Unexpected { what }));
    let mut negative = ORIGIN.range(&RangeResponse::default());
    negative.count = -1;
    let what = "a count is negative";
    assert_eq!(range_from_wire(negative), Err(Unexpected { what }));
    let mut empty = ORIGIN.txn(&answer());
    empty.responses[0].response = None;
    let what = "an operation has no answer";
    assert_eq!(txn_from_wire(empty), Err(Unexpected { what }));
}
