//! Runs simulated clusters from the command line; `cargo xtask sim` starts it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it talks to the person who started it"
)]

use std::process::ExitCode;

use clap::Parser;
use lockstep_sim::{Bug, Plan, Report, run};

/// Run clusters of the replicated store from seeds
#[derive(Parser)]
struct Options {
    /// Number of seeds
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Plant each known bug, and look for it
    #[arg(long)]
    planted: bool,
    /// Plant the bug with this name only
    #[arg(long)]
    bug: Option<String>,
}

fn main() -> ExitCode {
    let options = Options::parse();
    if options.planted || options.bug.is_some() {
        return planted(&options);
    }
    let mut all = Report::default();
    for seed in options.seed..options.seed + options.seeds {
        match run(Plan::new(seed)) {
            Ok(report) => {
                if options.seeds == 1 {
                    println!("{report:?}");
                }
                all.events += report.events;
                all.checked += report.checked;
                all.crashes += report.crashes;
                all.snapshots += report.snapshots;
                all.elections += report.elections;
                all.changes += report.changes;
            }
            Err(failure) => {
                eprintln!("{failure}");
                return ExitCode::FAILURE;
            }
        }
    }
    let Report {
        events,
        checked,
        crashes,
        snapshots,
        elections,
        changes,
        ..
    } = all;
    println!(
        "{} seeds: {events} events, {checked} requests and watch messages, {crashes} crashes, \
         {snapshots} snapshots, {elections} elections, {changes} changes of voters",
        options.seeds
    );
    ExitCode::SUCCESS
}

/// Looks for planted bugs. Panics of members belong to that, so their messages are shown for a single bug
/// only.
fn planted(options: &Options) -> ExitCode {
    if options.bug.is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let mut outcome = ExitCode::SUCCESS;
    for bug in Bug::ALL {
        let name = format!("{bug:?}");
        if options.bug.as_ref().is_some_and(|wanted| *wanted != name) {
            continue;
        }
        let mut seeds = options.seed..options.seed + options.seeds;
        let found = seeds.find_map(|seed| {
            let plan = Plan {
                bug: Some(*bug),
                ..Plan::new(seed)
            };
            run(plan).err()
        });
        match found {
            Some(failure) => {
                let what = failure.what.lines().next().unwrap_or_default();
                let what: String = what.chars().take(150).collect();
                println!("{name}: seed {}: {what}", failure.seed);
            }
            None => {
                eprintln!("{name}: not found");
                outcome = ExitCode::FAILURE;
            }
        }
    }
    outcome
}
