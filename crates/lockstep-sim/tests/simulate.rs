//! Seeds that every change has to survive, and planted bugs that have to be found.

use lockstep_sim::{Bug, Plan, run};

/// Seeds in which a planted bug has to show.
const SEEDS_MAX: u64 = 1000;

fn survive(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        if let Err(failure) = run(Plan::new(seed)) {
            panic!("{failure}");
        }
    }
}

#[test]
fn every_seed_keeps_every_rule() {
    survive(1..20);
}

#[test]
fn equal_plans_give_equal_runs_event_by_event() {
    for seed in [1, 2] {
        let (first, second) = (run(Plan::new(seed)), run(Plan::new(seed)));
        assert_eq!(first, second);
        assert_ne!(first, run(Plan::new(seed + 2)));
    }
}

#[test]
fn runs_have_what_they_are_about() {
    let reports = (1..6).map(|seed| run(Plan::new(seed)).expect("it keeps every rule"));
    let all = reports.fold([0; 4], |sum, report| {
        [
            sum[0] + report.crashes,
            sum[1] + report.elections,
            sum[2] + report.snapshots,
            sum[3] + report.changes,
        ]
    });
    assert!(all.iter().all(|number| *number > 0), "{all:?}");
}

/// Looks for a bug from a seed on. One that takes long to find begins shortly before a seed in which it was found.
fn find(bug: Bug, from: u64) {
    let mut seeds = from..=SEEDS_MAX;
    let found = seeds.find(|seed| {
        let plan = Plan {
            bug: Some(bug),
            ..Plan::new(*seed)
        };
        run(plan).is_err()
    });
    assert!(
        found.is_some(),
        "{bug:?} was not found in {SEEDS_MAX} seeds"
    );
}

macro_rules! found {
    ($($name:ident => $bug:ident from $from:literal;)*) => {
        $(
            #[test]
            fn $name() {
                find(Bug::$bug, $from);
            }
        )*

        #[test]
        fn every_planted_bug_has_a_test() {
            assert_eq!(Bug::ALL, [$(Bug::$bug),*]);
        }
    };
}

found! {
    an_answer_before_the_fsync_is_found => AnswerBeforeFsync from 1;
    a_directory_that_is_not_synced_is_found => NamesNotSynced from 1;
    a_read_without_a_quorum_is_found => ReadWithoutQuorum from 1;
    a_stale_read_after_a_pause_is_found => StaleReadAfterPause from 20;
    a_late_answer_to_a_read_is_found => LateReadAnswer from 78;
    a_term_that_is_not_checked_is_found => SkipTermCheck from 54;
    an_entry_applied_again_after_a_restart_is_found => ApplyTwiceAfterRestart from 1;
    a_duplicate_that_is_applied_is_found => ApplyDuplicates from 1;
    a_forgotten_vote_is_found => ForgetVote from 244;
    a_forgotten_term_is_found => ForgetTerm from 1;
    a_snapshot_without_leases_is_found => SnapshotWithoutLeases from 1;
    an_id_that_comes_back_is_found => ReuseMemberId from 1;
    a_watch_that_skips_a_revision_is_found => WatchSkipsOnResume from 1;
}
