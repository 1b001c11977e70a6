//! Crash tests with real processes: `kill -9` at random, or an abort at a failpoint.
//!
//! A child is this test program started again (`child`). Its writers report to the parent, line by line, each
//! request before it is sent and each acknowledgement; the parent kills the child, verifies the directory, and
//! starts the next child on it.

pub(crate) mod child;
mod ledger;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use lockstep_storage_embedded::Step;
use lockstep_testkit::processes::Process;

use crate::rng::{Rng, fast_folder, rounds};
use ledger::Ledger;

/// Number of children on one directory.
const LIVES: usize = 25;

/// The end of a child.
enum Death {
    /// `kill -9` after this many lines.
    Killed { after: usize },
    /// At a step, when it is reached for the `nth` time.
    AtStep { step: Step, nth: usize },
}

fn run(test: &str, shard: u64, lives: usize, mut choose: impl FnMut(&mut Rng) -> Death) {
    let mut rng = Rng::of_run(test, shard);
    let mut left = rounds(lives);
    while left > 0 {
        let folder = fast_folder();
        let mut ledger = Ledger::default();
        for life in 0..left.min(LIVES) {
            let death = choose(&mut rng);
            live(folder.path(), &death, &mut ledger);
            ledger.check(folder.path(), &format!("{test}, life {life}"));
            left -= 1;
        }
        assert!(
            ledger.acknowledged() > 0,
            "{test}: the children did something"
        );
    }
}

/// Runs one child until its last line.
fn live(folder: &Path, death: &Death, ledger: &mut Ledger) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(child::ARGUMENTS).env(child::FOLDER, folder);
    if let Death::AtStep { step, nth } = death {
        command.env(child::STEP, format!("{step:?} {nth}"));
    }
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut child = Process::from(child.unwrap());
    let lines = BufReader::new(child.output()).lines();
    let mut told = 0;
    for line in lines {
        let line = line.unwrap();
        let Some((_, line)) = line.split_once(child::MARK) else {
            continue;
        };
        ledger.note(line);
        told += 1;
        if let Death::Killed { after } = death
            && told == *after
        {
            child.signal("KILL");
        }
    }
    child.wait();
}

fn killed_at_random(shard: u64) {
    run("kill -9", shard, 40, |rng| Death::Killed {
        after: 1 + rng.below(150),
    });
}

fn dies_at(step: Step, shard: u64) {
    run(&format!("{step:?}"), 100 + shard, 28, |rng| Death::AtStep {
        step,
        nth: 1 + rng.below(9),
    });
}

macro_rules! deaths {
    ($($name:ident => $run:expr;)*) => {
        $(
            #[test]
            fn $name() {
                $run;
            }
        )*
    };
}

deaths! {
    a_process_killed_under_load_keeps_its_word => killed_at_random(1);
    a_process_killed_under_load_keeps_its_word_in_a_second_folder => killed_at_random(2);
    a_process_killed_under_load_keeps_its_word_in_a_third_folder => killed_at_random(3);
    a_process_killed_under_load_keeps_its_word_in_a_fourth_folder => killed_at_random(4);
    a_process_killed_under_load_keeps_its_word_in_a_fifth_folder => killed_at_random(5);
    a_process_that_dies_before_it_writes_keeps_its_word => dies_at(Step::BeforeWrite, 0);
    a_process_that_dies_in_the_middle_of_a_frame_keeps_its_word => dies_at(Step::HalfWritten, 1);
    a_process_that_dies_before_a_frame_is_safe_keeps_its_word => dies_at(Step::Written, 2);
    a_process_that_dies_before_it_applies_keeps_its_word => dies_at(Step::Synced, 3);
    a_process_that_dies_before_it_answers_keeps_its_word => dies_at(Step::Applied, 4);
    a_process_that_dies_while_it_renames_a_segment_keeps_its_word => dies_at(Step::SegmentRenamed, 5);
    a_process_that_dies_while_it_makes_a_segment_keeps_its_word => dies_at(Step::SegmentMade, 6);
    a_process_that_dies_with_an_empty_segment_keeps_its_word => dies_at(Step::SegmentReady, 7);
    a_process_that_dies_before_it_writes_the_state_keeps_its_word => dies_at(Step::StateBegun, 8);
    a_process_that_dies_before_it_commits_the_state_keeps_its_word => dies_at(Step::StateWritten, 9);
    a_process_that_dies_after_it_committed_the_state_keeps_its_word => dies_at(Step::StateCommitted, 10);
}
