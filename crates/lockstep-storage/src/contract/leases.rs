//! Leases.

use lockstep_mvcc::{LeaseId, LeaseTtl, RequestError, WriteError};

use super::Subject;
use crate::{GrantedLease, WriteFailure};

const UNKNOWN: LeaseId = LeaseId(i64::MAX - 1);

async fn grant(subject: &Subject, ttl_seconds: i64) -> GrantedLease {
    let granted = subject.store().grant_lease(LeaseTtl(ttl_seconds)).await;
    granted.expect("a lease can be granted")
}

pub(super) async fn a_lease_has_its_ttl_and_keys(subject: Subject) {
    let GrantedLease { id, ttl_seconds } = grant(&subject, 600).await;
    assert_eq!(ttl_seconds, 600);
    subject.put_leased("b", id).await;
    subject.put_leased("a", id).await;
    let status = subject.store().lease(id).await.expect("the store answers");
    let status = status.expect("the lease is there");
    let names: Vec<_> = status.keys.iter().map(|key| subject.name(key)).collect();
    assert_eq!(
        (status.granted_ttl_seconds, names),
        (600, vec!["a".to_owned(), "b".to_owned()])
    );
    assert!(
        (590..=600).contains(&status.remaining_seconds),
        "{}",
        status.remaining_seconds
    );
    let renewed = subject.store().keep_lease_alive(id).await;
    assert_eq!(renewed, Ok(Some(600)));
    let kv = subject.get("a").await.expect("the key was written");
    assert_eq!(kv.lease, id);
}

pub(super) async fn a_ttl_that_is_too_large_is_refused(subject: Subject) {
    let ttl = LeaseTtl(LeaseTtl::SECONDS_MAX + 1);
    let refused = subject.store().grant_lease(ttl).await;
    assert_eq!(
        refused,
        Err(WriteFailure::Invalid(RequestError::LeaseTtlTooLarge))
    );
}

pub(super) async fn revoking_deletes_the_keys_at_one_revision(subject: Subject) {
    let GrantedLease { id, .. } = grant(&subject, 600).await;
    subject.put_leased("b", id).await;
    subject.put_leased("a", id).await;
    subject.put("kept", "v").await;
    let mut watch = subject.watch_all(None).await;
    assert_eq!(subject.store().revoke_lease(id).await, Ok(()));
    assert_eq!(subject.list().await, ["kept=v"]);
    let events = subject.events(&mut watch, 2).await;
    assert_eq!(subject.shown(&events), ["-a", "-b"]);
    assert_eq!(events[0].kv.mod_revision, events[1].kv.mod_revision);
}

pub(super) async fn an_unknown_lease_is_not_found(subject: Subject) {
    let not_found = Err(WriteFailure::Refused(WriteError::LeaseNotFound));
    assert_eq!(subject.store().revoke_lease(UNKNOWN).await, not_found);
    assert_eq!(subject.store().keep_lease_alive(UNKNOWN).await, Ok(None));
    assert_eq!(subject.store().lease(UNKNOWN).await, Ok(None));
}

pub(super) async fn a_put_moves_a_key_to_its_new_lease(subject: Subject) {
    let old = grant(&subject, 600).await.id;
    let new = grant(&subject, 600).await.id;
    subject.put_leased("moved", old).await;
    subject.put_leased("moved", new).await;
    subject.put_leased("freed", old).await;
    subject.put("freed", "v").await;
    assert_eq!(subject.store().revoke_lease(old).await, Ok(()));
    assert_eq!(subject.list().await, ["freed=v", "moved=leased"]);
    assert_eq!(subject.store().revoke_lease(new).await, Ok(()));
    assert_eq!(subject.list().await, ["freed=v"]);
}

pub(super) async fn an_expired_lease_takes_its_keys_along(subject: Subject) {
    let short = grant(&subject, 1).await;
    let long = grant(&subject, 600).await.id;
    subject.put_leased("a", short.id).await;
    subject.put_leased("b", long).await;
    let last = subject.put_leased("c", short.id).await;
    let mut watch = subject.watch_all(Some(last.next())).await;
    let events = subject.events(&mut watch, 2).await;
    assert_eq!(subject.shown(&events), ["-a", "-c"]);
    assert!(events[0].kv.mod_revision > last);
    assert_eq!(subject.list().await, ["b=leased"]);
    assert_eq!(subject.store().lease(short.id).await, Ok(None));
    assert_eq!(subject.store().keep_lease_alive(short.id).await, Ok(None));
}
