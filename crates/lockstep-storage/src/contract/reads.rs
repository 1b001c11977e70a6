//! Reading single keys.

use lockstep_mvcc::{KeyValue, Put, Range, ReadError, Revision};

use super::Subject;
use crate::{Consistency, ReadFailure};

pub(super) async fn a_missing_key_is_no_error(subject: Subject) {
    let answer = subject.read(Range::new(subject.single("nothing"))).await;
    assert_eq!((answer.kvs, answer.count, answer.more), (vec![], 0, false));
}

pub(super) async fn a_read_sees_every_write_acknowledged_before(subject: Subject) {
    for nth in 0..50 {
        let revision = subject.put("k", &nth.to_string()).await;
        let answer = subject.read(Range::new(subject.single("k"))).await;
        assert_eq!(subject.pairs(&answer), [format!("k={nth}")]);
        assert!(answer.revision >= revision);
        let current = subject.store().revision(Consistency::Linearizable).await;
        assert!(current.expect("the store answers") >= revision);
    }
}

pub(super) async fn a_serializable_read_never_goes_back(subject: Subject) {
    let mut seen = Revision::NONE;
    for nth in 0..50 {
        subject.put("k", &nth.to_string()).await;
        let range = Range::new(subject.single("k"));
        let answer = subject
            .store()
            .range(range, Consistency::Serializable)
            .await;
        let revision = answer.expect("the store answers").revision;
        assert!(revision >= seen, "{revision} after {seen}");
        seen = revision;
    }
}

pub(super) async fn a_pair_tells_its_revisions_version_and_lease(subject: Subject) {
    let created = subject.put("k", "1").await;
    let updated = subject.put("k", "2").await;
    let expected = KeyValue {
        key: subject.key("k").bytes().clone(),
        value: "2".into(),
        create_revision: created,
        mod_revision: updated,
        version: 2,
        ..KeyValue::default()
    };
    assert_eq!(subject.get("k").await.as_deref(), Some(&expected));
    subject.delete("k").await;
    assert_eq!(subject.get("k").await, None);
    let again = subject.put("k", "3").await;
    let kv = subject.get("k").await.expect("the key is back");
    assert_eq!(
        (kv.create_revision, kv.mod_revision, kv.version),
        (again, again, 1)
    );
}

pub(super) async fn the_past_is_readable_at_its_revision(subject: Subject) {
    let first = subject.put("k", "1").await;
    let second = subject.put("k", "2").await;
    let gone = subject.delete("k").await;
    let newest = subject.put("other", "x").await;
    for (at, expected) in [(first, vec!["k=1"]), (second, vec!["k=2"]), (gone, vec![])] {
        let range = Range {
            at: Some(at),
            ..Range::new(subject.single("k"))
        };
        let answer = subject.read(range).await;
        assert_eq!(subject.pairs(&answer), expected, "at {at}");
        assert!(answer.revision >= newest, "the answer tells the present");
    }
}

pub(super) async fn a_future_revision_is_refused(subject: Subject) {
    let current = subject.put("k", "1").await;
    let range = Range {
        at: Some(Revision(current.0 + 1_000_000)),
        ..Range::new(subject.single("k"))
    };
    let refused = subject.range(range).await;
    let is_future = matches!(
        refused,
        Err(ReadFailure::Refused(ReadError::FutureRevision { .. }))
    );
    assert!(is_future, "{refused:?}");
}

pub(super) async fn values_are_opaque_bytes(subject: Subject) {
    let all: Vec<u8> = (0..=u8::MAX).collect();
    for (name, value) in [
        ("empty", vec![]),
        ("all", all),
        ("large", vec![0xff; 1 << 20]),
    ] {
        let put = Put::new(subject.key(name), value.clone());
        subject.run(vec![lockstep_mvcc::Op::Put(put)]).await;
        let kv = subject.get(name).await.expect("the key was written");
        assert!(
            kv.value == value,
            "{name}: {} bytes came back",
            kv.value.len()
        );
    }
}
