//! etcd-api.md §7/errors: clients match on code and text.

use lockstep_etcd_api::EtcdError;
use tonic::{Code, Status};

/// Code and text after `etcdserver: `, as the sheet has them.
const TABLE: &[(Code, &str)] = &[
    (Code::InvalidArgument, "key is not provided"),
    (Code::InvalidArgument, "value is provided"),
    (Code::InvalidArgument, "lease is provided"),
    (Code::InvalidArgument, "too many operations in txn request"),
    (Code::InvalidArgument, "duplicate key given in txn request"),
    (Code::OutOfRange, "too large lease TTL"),
    (
        Code::OutOfRange,
        "mvcc: required revision has been compacted",
    ),
    (
        Code::OutOfRange,
        "mvcc: required revision is a future revision",
    ),
    (Code::InvalidArgument, "key not found"),
    (Code::NotFound, "requested lease not found"),
    (Code::FailedPrecondition, "lease already exists"),
    (Code::ResourceExhausted, "mvcc: database space exceeded"),
    (Code::DataLoss, "corrupt cluster"),
    (Code::InvalidArgument, "invalid sort option"),
    (Code::InvalidArgument, "invalid compare option"),
    (Code::InvalidArgument, "request is too large"),
    (Code::InvalidArgument, "invalid client api version"),
    (Code::ResourceExhausted, "too many requests"),
    (Code::NotFound, "member not found"),
    (Code::FailedPrecondition, "bad leader transferee"),
    (Code::FailedPrecondition, "not leader"),
    (Code::Unavailable, "no leader"),
    (Code::Unavailable, "leader changed"),
    (Code::Unavailable, "server stopped"),
    (Code::Unavailable, "request timed out"),
    (Code::Unauthenticated, "invalid auth token"),
    (Code::PermissionDenied, "permission denied"),
    (Code::FailedPrecondition, "authentication is not enabled"),
];

#[test]
fn every_refusal_has_the_code_and_the_text_of_its_row() {
    let told: Vec<_> = EtcdError::ALL
        .into_iter()
        .map(|refusal| {
            let status = Status::from(refusal);
            (status.code(), status.message().to_owned())
        })
        .collect();
    let expected: Vec<_> = TABLE
        .iter()
        .map(|(code, text)| (*code, format!("etcdserver: {text}")))
        .collect();
    assert_eq!(told, expected);
}

#[test]
fn a_client_reads_the_refusal_back_from_code_and_text() {
    for refusal in EtcdError::ALL {
        assert_eq!(EtcdError::of_status(&refusal.into()), Some(refusal));
    }
    let other_code = Status::internal("etcdserver: no leader");
    assert_eq!(EtcdError::of_status(&other_code), None);
    let other_text = Status::unavailable("etcdserver: no leader, sorry");
    assert_eq!(EtcdError::of_status(&other_text), None);
}
