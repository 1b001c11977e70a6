//! Contract of [`GuardedWrite`]: conditions, extra writes, and the answer when a condition fails.

use std::sync::Arc;

use lockstep_mvcc::{KeyRange, KeyValue, LeaseId, Limits, Revision};
use tokio::task::JoinSet;

use super::Subject;
use crate::{Expected, ExtraWrite, Fence, GuardedOp, GuardedOutcome, GuardedWrite, RangeUnchanged};

fn write(
    subject: &Subject,
    expected: Expected,
    value: &str,
    fences: &[(&str, Revision)],
) -> GuardedWrite {
    let fence = |(name, at): &(&str, Revision)| Fence {
        key: subject.key(name),
        at: *at,
    };
    GuardedWrite {
        key: subject.key("object"),
        expected,
        op: GuardedOp::Put {
            value: value.to_owned().into(),
            lease: LeaseId::NONE,
        },
        fences: fences.iter().map(fence).collect(),
        unchanged_ranges: Vec::new(),
        extra_writes: Vec::new(),
    }
}

async fn send(subject: &Subject, write: GuardedWrite) -> GuardedOutcome {
    let txn = write.txn(Limits::default().txn_ops_max);
    let answer = subject.store().txn(txn.expect("few fences")).await;
    GuardedOutcome::of(answer.expect("the store answers"))
}

async fn done(subject: &Subject, write: GuardedWrite) -> Revision {
    match send(subject, write).await {
        GuardedOutcome::Committed { revision } => revision,
        stopped @ GuardedOutcome::ConditionFailed { .. } => panic!("{stopped:?}"),
    }
}

type Found = Option<Arc<KeyValue>>;

async fn stopped(subject: &Subject, write: GuardedWrite) -> (Found, Vec<Found>) {
    match send(subject, write).await {
        GuardedOutcome::ConditionFailed {
            current, fences, ..
        } => (current, fences),
        done @ GuardedOutcome::Committed { .. } => panic!("{done:?}"),
    }
}

pub(super) async fn a_guarded_write_happens_if_all_its_fences_stand(subject: Subject) {
    let fence = subject.put("sv", "v1").await;
    let fences = [("sv", fence), ("missing", Revision::NONE)];
    let created = done(&subject, write(&subject, Expected::Absent, "1", &fences)).await;
    let updated = done(
        &subject,
        write(&subject, Expected::At(created), "2", &fences),
    )
    .await;
    assert!(updated > created);
    assert_eq!(subject.list().await, ["object=2", "sv=v1"]);
    let deleted = GuardedWrite {
        op: GuardedOp::Delete,
        ..write(&subject, Expected::At(updated), "", &fences)
    };
    done(&subject, deleted).await;
    assert_eq!(subject.list().await, ["sv=v1"]);
}

pub(super) async fn an_extra_create_fails_the_write_while_the_key_exists(subject: Subject) {
    let claim = |object: &str, value: &str| GuardedWrite {
        key: subject.key(object),
        extra_writes: vec![ExtraWrite::Create {
            key: subject.key("claim"),
            value: value.to_owned().into(),
        }],
        ..write(&subject, Expected::Absent, value, &[])
    };
    let first = done(&subject, claim("object", "1")).await;
    assert_eq!(stopped(&subject, claim("other", "2")).await, (None, vec![]));
    assert_eq!(subject.list().await, ["claim=1", "object=1"]);
    let released = GuardedWrite {
        op: GuardedOp::Delete,
        extra_writes: vec![ExtraWrite::Delete(subject.key("claim"))],
        ..write(&subject, Expected::At(first), "", &[])
    };
    done(&subject, released).await;
    done(&subject, claim("other", "2")).await;
    assert_eq!(subject.list().await, ["claim=2", "other=2"]);
}

pub(super) async fn a_key_created_or_changed_in_an_unchanged_range_fails_the_write(
    subject: Subject,
) {
    let under = |object: &str, newest: Revision| GuardedWrite {
        key: subject.key(object),
        unchanged_ranges: vec![RangeUnchanged {
            keys: KeyRange::prefix(subject.key("quota/").bytes().clone()),
            newest,
        }],
        ..write(&subject, Expected::Absent, "v", &[])
    };
    subject.put("quota.", "beside").await;
    done(&subject, under("a", Revision::NONE)).await;
    let first = subject.put("quota/1", "v").await;
    let nothing_found = (None, vec![]);
    let stopped_by_a_new_key = stopped(&subject, under("b", Revision::NONE)).await;
    assert_eq!(stopped_by_a_new_key, nothing_found);
    done(&subject, under("b", first)).await;
    let second = subject.put("quota/2", "v").await;
    assert_eq!(stopped(&subject, under("c", first)).await, nothing_found);
    done(&subject, under("c", second)).await;
    // A delete leaves no newer key in the range, so it does not fail the compare.
    subject.delete("quota/2").await;
    done(&subject, under("d", first)).await;
    let all = ["a=v", "b=v", "c=v", "d=v", "quota.=beside", "quota/1=v"];
    assert_eq!(subject.list().await, all);
}

pub(super) async fn an_extra_replace_fails_the_write_if_its_key_changed(subject: Subject) {
    let seen = subject.put("quota", "0").await;
    let charge = |object: &str, at: Revision, value: &str| GuardedWrite {
        key: subject.key(object),
        extra_writes: vec![ExtraWrite::Replace {
            key: subject.key("quota"),
            at,
            value: value.to_owned().into(),
        }],
        ..write(&subject, Expected::Absent, "v", &[])
    };
    let charged = done(&subject, charge("a", seen, "1")).await;
    assert_eq!(
        stopped(&subject, charge("b", seen, "1")).await,
        (None, vec![])
    );
    assert_eq!(subject.list().await, ["a=v", "quota=1"]);
    done(&subject, charge("b", charged, "2")).await;
    assert_eq!(subject.list().await, ["a=v", "b=v", "quota=2"]);
}

pub(super) async fn a_stopped_write_returns_the_object_and_the_fenced_keys(subject: Subject) {
    let old = subject.put("sv", "v1").await;
    let created = done(
        &subject,
        write(&subject, Expected::Absent, "1", &[("sv", old)]),
    )
    .await;
    subject.put("sv", "v2").await;
    let object = subject.get("object").await;
    let moved = subject.get("sv").await;
    // The fence changed.
    let fenced = write(&subject, Expected::At(created), "2", &[("sv", old)]);
    assert_eq!(
        stopped(&subject, fenced).await,
        (object.clone(), vec![moved.clone()])
    );
    // The object changed.
    let current = moved.as_ref().map_or(Revision::NONE, |kv| kv.mod_revision);
    let outdated = write(&subject, Expected::Absent, "2", &[("sv", current)]);
    assert_eq!(stopped(&subject, outdated).await, (object, vec![moved]));
    // Both are deleted.
    subject.delete("sv").await;
    subject.delete("object").await;
    let gone = write(&subject, Expected::At(created), "2", &[("sv", current)]);
    assert_eq!(stopped(&subject, gone).await, (None, vec![None]));
    assert_eq!(subject.list().await, [""; 0]);
}

pub(super) async fn a_fence_that_moves_meanwhile_stops_every_writer(subject: Subject) {
    const WRITERS: usize = 8;
    let fence = subject.put("sv", "v1").await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let subject = subject.clone();
        writers.spawn(async move {
            let mut revisions = Vec::new();
            loop {
                let write = GuardedWrite {
                    key: subject.key(&format!("object{writer}")),
                    ..write(&subject, Expected::Absent, "v", &[("sv", fence)])
                };
                let write = match revisions.last() {
                    Some(last) => GuardedWrite {
                        expected: Expected::At(*last),
                        ..write
                    },
                    None => write,
                };
                match send(&subject, write).await {
                    GuardedOutcome::Committed { revision } => revisions.push(revision),
                    GuardedOutcome::ConditionFailed { .. } => return revisions,
                }
                tokio::task::yield_now().await;
            }
        });
    }
    for _ in 0..WRITERS * 4 {
        tokio::task::yield_now().await;
    }
    let moved = subject.delete("sv").await;
    let written: Vec<_> = writers.join_all().await.into_iter().flatten().collect();
    assert!(written.iter().all(|revision| *revision < moved));
}
