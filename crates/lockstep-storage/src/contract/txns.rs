//! Transactions.

use lockstep_mvcc::{
    Compare, Comparison, KeyRange, LeaseId, Op, OpResponse, Predicate, Put, PutLease, Revision,
    Txn, WriteError,
};
use tokio::task::JoinSet;

use super::Subject;
use super::subject::{checked, reads};
use crate::WriteFailure;

const WRITERS: usize = 16;
const WRITES_EACH: usize = 20;

pub(super) async fn create_needs_a_missing_key(subject: Subject) {
    let create = |value| Txn {
        compares: vec![subject.mod_is("k", Revision::NONE)],
        success: vec![subject.put_op("k", value)],
        failure: vec![],
    };
    let created = subject.txn(create("1")).await;
    assert!(created.succeeded);
    let refused = subject.txn(create("2")).await;
    assert_eq!((refused.succeeded, refused.responses), (false, vec![]));
    assert_eq!(subject.list().await, ["k=1"]);
}

pub(super) async fn update_needs_the_revision_that_was_read(subject: Subject) {
    let first = subject.put("k", "1").await;
    let update = |value| Txn {
        compares: vec![subject.mod_is("k", first)],
        success: vec![subject.put_op("k", value)],
        failure: vec![subject.get_op("k")],
    };
    let updated = subject.txn(update("2")).await;
    assert!(updated.succeeded);
    assert!(updated.revision > first);
    let refused = subject.txn(update("3")).await;
    assert!(!refused.succeeded);
    let current = reads(refused);
    assert_eq!(subject.pairs(&current[0]), ["k=2"]);
    assert_eq!(current[0].kvs[0].mod_revision, updated.revision);
}

pub(super) async fn delete_needs_the_revision_that_was_read(subject: Subject) {
    let first = subject.put("k", "1").await;
    let delete = |at| Txn {
        compares: vec![subject.mod_is("k", at)],
        success: vec![subject.delete_op("k")],
        failure: vec![subject.get_op("k")],
    };
    let refused = subject.txn(delete(first.next())).await;
    assert_eq!(subject.pairs(&reads(refused)[0]), ["k=1"]);
    let deleted = subject.txn(delete(first)).await;
    assert!(deleted.succeeded);
    assert_eq!(subject.list().await, [""; 0]);
}

pub(super) async fn every_target_and_comparison_is_judged(subject: Subject) {
    use Comparison::{Equal, Greater, Less, NotEqual};
    let created = i64::try_from(subject.put("k", "v").await.0).expect("revisions are small");
    subject.put("k", "v").await;
    for (name, comparison, predicate, holds) in [
        ("k", Equal, Predicate::Version(2), true),
        ("k", NotEqual, Predicate::Version(2), false),
        ("k", Greater, Predicate::Version(1), true),
        ("k", Less, Predicate::Version(2), false),
        ("k", Equal, Predicate::CreateRevision(created), true),
        ("k", Greater, Predicate::ModRevision(created), true),
        ("k", Equal, Predicate::Value("v".into()), true),
        ("k", Less, Predicate::Value("w".into()), true),
        ("k", Equal, Predicate::Lease(LeaseId::NONE), true),
        ("none", Equal, Predicate::Version(0), true),
        ("none", Equal, Predicate::ModRevision(0), true),
        ("none", Greater, Predicate::CreateRevision(0), false),
        ("none", Equal, Predicate::Value("".into()), false),
        ("none", NotEqual, Predicate::Value("x".into()), false),
    ] {
        let compare = subject.compare(name, comparison, predicate);
        let txn = Txn {
            compares: vec![compare.clone()],
            ..Txn::default()
        };
        assert_eq!(subject.txn(txn).await.succeeded, holds, "{compare:?}");
    }
}

pub(super) async fn a_range_compare_holds_for_all_keys(subject: Subject) {
    subject.put("a", "v").await;
    subject.put("b", "v").await;
    let all_are = |value: &'static str, keys: KeyRange| Txn {
        compares: vec![Compare {
            keys,
            comparison: Comparison::Equal,
            predicate: Predicate::Value(value.into()),
        }],
        ..Txn::default()
    };
    assert!(subject.txn(all_are("v", subject.all())).await.succeeded);
    subject.put("b", "w").await;
    assert!(!subject.txn(all_are("v", subject.all())).await.succeeded);
    let empty = KeyRange::prefix(subject.key("c").bytes().clone());
    assert!(!subject.txn(all_are("v", empty)).await.succeeded);
}

pub(super) async fn all_changes_of_a_transaction_share_a_revision(subject: Subject) {
    let before = subject.put("gone", "v").await;
    let ops = vec![
        subject.put_op("a", "1"),
        subject.put_op("b", "2"),
        subject.delete_op("gone"),
    ];
    let answer = subject.run(ops).await;
    assert!(answer.revision > before);
    let kvs = subject
        .read(lockstep_mvcc::Range::new(subject.all()))
        .await
        .kvs;
    let revisions: Vec<_> = kvs.iter().map(|kv| kv.mod_revision).collect();
    assert_eq!(revisions, [answer.revision; 2]);
}

pub(super) async fn a_transaction_without_changes_has_no_revision(subject: Subject) {
    subject.put("k", "v").await;
    let before = subject.run(vec![subject.get_op("k")]).await.revision;
    let nothing = vec![subject.delete_op("nothing"), subject.get_op("k")];
    let answer = subject.run(nothing).await;
    let again = subject.run(vec![subject.get_op("k")]).await.revision;
    assert_eq!([answer.revision, again], [before; 2]);
}

pub(super) async fn a_nested_transaction_is_decided_before_any_operation(subject: Subject) {
    let nested = Txn {
        compares: vec![subject.mod_is("a", Revision::NONE)],
        success: vec![subject.put_op("b", "a was missing")],
        failure: vec![subject.put_op("b", "a was there")],
    };
    let answer = subject
        .run(vec![subject.put_op("a", "1"), Op::Txn(nested)])
        .await;
    assert_eq!(subject.list().await, ["a=1", "b=a was missing"]);
    let inner = answer.responses.into_iter().nth(1);
    assert!(matches!(inner, Some(OpResponse::Txn(inner)) if inner.succeeded));
}

pub(super) async fn a_read_in_a_transaction_sees_the_put_before_it(subject: Subject) {
    let ops = vec![
        subject.get_op("k"),
        subject.put_op("k", "v"),
        subject.get_op("k"),
    ];
    let seen = reads(subject.run(ops).await);
    assert_eq!(
        seen.iter().map(|read| read.count).collect::<Vec<_>>(),
        [0, 1]
    );
}

pub(super) async fn a_failing_operation_leaves_nothing(subject: Subject) {
    let unknown = Put {
        lease: PutLease::Set(LeaseId(i64::MAX)),
        ..Put::new(subject.key("b"), "v")
    };
    let txn = Txn {
        success: vec![subject.put_op("a", "v"), Op::Put(unknown)],
        ..Txn::default()
    };
    let refused = subject.try_txn(txn).await;
    assert_eq!(
        refused,
        Err(WriteFailure::Refused(WriteError::LeaseNotFound))
    );
    assert_eq!(subject.list().await, [""; 0]);
}

pub(super) async fn concurrent_writers_never_share_a_revision(subject: Subject) {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let subject = subject.clone();
        writers.spawn(async move {
            let mut revisions = Vec::new();
            for nth in 0..WRITES_EACH {
                revisions.push(subject.put(&format!("k{writer}"), &nth.to_string()).await);
                tokio::task::yield_now().await;
            }
            assert!(revisions.is_sorted(), "one writer's revisions ascend");
            revisions
        });
    }
    let mut all: Vec<_> = writers.join_all().await.into_iter().flatten().collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), WRITERS * WRITES_EACH);
}

pub(super) async fn of_concurrent_writers_with_one_expectation_one_wins(subject: Subject) {
    let first = subject.put("k", "0").await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let subject = subject.clone();
        writers.spawn(async move {
            let txn = checked(Txn {
                compares: vec![subject.mod_is("k", first)],
                success: vec![subject.put_op("k", &writer.to_string())],
                failure: vec![],
            });
            let answer = subject.store().txn(txn).await;
            (writer, answer.expect("the store answers").succeeded)
        });
    }
    let outcomes = writers.join_all().await;
    let won: Vec<_> = outcomes.iter().filter(|(_, won)| *won).collect();
    assert_eq!(won.len(), 1);
    assert_eq!(subject.list().await, [format!("k={}", won[0].0)]);
}

/// Increments the number under `k` with compare-and-put until it succeeds; returns the revision written.
async fn increment(subject: &Subject) -> (u64, Revision) {
    loop {
        let before = subject.get("k").await.expect("the key is there");
        let number: u64 = String::from_utf8_lossy(&before.value)
            .parse()
            .expect("the value is a number");
        let txn = Txn {
            compares: vec![subject.mod_is("k", before.mod_revision)],
            success: vec![subject.put_op("k", &(number + 1).to_string())],
            failure: vec![],
        };
        let answer = subject.txn(txn).await;
        if answer.succeeded {
            return (number + 1, answer.revision);
        }
        tokio::task::yield_now().await;
    }
}

pub(super) async fn concurrent_increments_lose_none(subject: Subject) {
    subject.put("k", "0").await;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let subject = subject.clone();
        writers.spawn(async move {
            let mut written = Vec::new();
            for _ in 0..WRITES_EACH {
                written.push(increment(&subject).await);
            }
            written
        });
    }
    let mut written: Vec<_> = writers.join_all().await.into_iter().flatten().collect();
    written.sort_unstable();
    let numbers: Vec<_> = written.iter().map(|(number, _)| *number).collect();
    let total = (WRITERS * WRITES_EACH) as u64;
    assert_eq!(numbers, (1..=total).collect::<Vec<_>>());
    let revisions = written.iter().map(|(_, revision)| revision);
    assert!(revisions.is_sorted(), "numbers and revisions grow together");
    assert_eq!(subject.list().await, [format!("k={total}")]);
}
