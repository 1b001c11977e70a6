//! Histories of the in-memory store pass the checker, and those of faulty stores fail it.

mod faulty;

use std::sync::Arc;

use faulty::{Fault, FaultyStore};
use lockstep_storage::contract::histories::{self, Guarantee, History, Plan, Violation, seeds};
use lockstep_storage::{Limits, MemoryStore, Store};

fn record(plan: Plan, wrap: impl FnOnce(MemoryStore) -> Arc<dyn Store>) -> History {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(4).enable_time().build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async {
        let store = wrap(MemoryStore::start(Limits::default()));
        histories::record(&[store], plan).await
    })
}

fn shown(violations: &[Violation]) -> String {
    violations.iter().map(|it| format!("{it}\n")).collect()
}

#[test]
fn the_store_in_memory_gives_sound_histories() {
    for seed in seeds("memory", 30) {
        let plan = Plan::new(seed);
        let sent = plan.clients * plan.requests_each;
        let history = record(plan, |store| Arc::new(store));
        match histories::check(&history) {
            // A watch message has one or many revisions, as the threads are scheduled, so only the requests have a
            // fixed number.
            Ok(right) => assert!(right > sent, "seed {seed}: {right} things were checked"),
            Err(violations) => panic!("seed {seed}:\n{}", shown(&violations)),
        }
    }
}

/// Responses are lost before or after the write is applied; the checker has to place these writes.
#[test]
fn a_store_that_loses_answers_gives_sound_histories() {
    for seed in seeds("lost answers", 20) {
        let wrap =
            |store| -> Arc<dyn Store> { Arc::new(FaultyStore::new(store, Fault::LosesAnswers)) };
        let history = record(Plan::new(seed), wrap);
        if let Err(violations) = histories::check(&history) {
            panic!("seed {seed}:\n{}", shown(&violations));
        }
    }
}

/// The fault violates one of the given guarantees within the first ten seeds.
fn is_seen(fault: Fault, as_one_of: &[Guarantee]) {
    for seed in 0..10 {
        let wrap = |store| -> Arc<dyn Store> { Arc::new(FaultyStore::new(store, fault)) };
        let history = record(Plan::new(seed), wrap);
        if let Err(violations) = histories::check(&history) {
            let mut found = violations.iter().map(|violation| violation.guarantee);
            assert!(
                found.any(|guarantee| as_one_of.contains(&guarantee)),
                "{fault:?} was taken for something else:\n{}",
                shown(&violations)
            );
            return;
        }
    }
    panic!("{fault:?} was not seen");
}

macro_rules! seen {
    ($($name:ident => $fault:ident as $($guarantee:ident)|+;)*) => {
        $(
            #[test]
            fn $name() {
                is_seen(Fault::$fault, &[$(Guarantee::$guarantee),+]);
            }
        )*
    };
}

seen! {
    a_stale_read_is_seen => StaleRead as RealTime;
    an_old_answer_under_a_new_revision_is_seen => OldContent as Sequential;
    a_lost_write_is_seen => LosesWrites as OneWriteARevision | Sequential;
    a_repeated_revision_is_seen => RepeatsRevisions as OneWriteARevision;
    half_a_transaction_is_seen => HalfTransactions as Sequential;
    a_compare_that_is_not_made_is_seen => IgnoresCompares as Sequential;
    a_write_that_happens_twice_is_seen => WritesTwice as OneWriteARevision | Sequential;
    a_write_that_was_refused_and_happens_is_seen => WritesWhatItRefused as OneWriteARevision | Sequential;
    a_dropped_event_is_seen => DropsEvents as Reliable;
    a_duplicated_event_is_seen => DuplicatesEvents as Unique;
    events_out_of_order_are_seen => ReversesEvents as Ordered;
    a_revision_in_two_messages_is_seen => SplitsRevisions as Atomic;
    progress_ahead_of_events_is_seen => ProgressAhead as Bookmarkable | Reliable;
    a_wrong_previous_pair_is_seen => WrongPrevious as PrevKv;
    a_wrong_creation_is_seen => WrongCreate as IsCreate;
    a_filter_that_is_not_applied_is_seen => IgnoresFilters as Filter;
    an_event_lost_by_a_resumed_watch_is_seen => SkipsOnResume as Reliable;
}
