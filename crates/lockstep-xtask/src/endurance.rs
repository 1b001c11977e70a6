//! `cargo xtask crash`, `cargo xtask histories` and `cargo xtask gated-writes`: random tests, for longer than
//! CI has time for, with a seed that repeats a run. `cargo xtask endurance` and `cargo xtask soak`: the growth of an
//! optimised server over a longer time than in CI. `cargo xtask
//! hostile`: its answers to others under attack.

use std::time::SystemTime;

use clap::Args;

use crate::workspace::Workspace;
use crate::{Outcome, process};

#[derive(Args)]
pub(crate) struct Options {
    /// Number of rounds; rounded up to a multiple of what CI runs
    #[arg(long)]
    rounds: Option<u64>,
    /// Repeats the run that printed this seed
    #[arg(long)]
    seed: Option<u64>,
}

/// Random tests that take their seed and length from variables.
pub(crate) struct Suite {
    name: &'static str,
    /// Crates, and which of their tests.
    tests: &'static [(&'static str, &'static [&'static str])],
    /// Rounds of one run in CI.
    rounds: u64,
    seed_variable: &'static str,
    times_variable: &'static str,
}

/// Processes that die, and disks that lose power.
pub(crate) const CRASH: Suite = Suite {
    name: "crash",
    tests: &[("lockstep-storage-embedded", &["process::", "power::"])],
    rounds: 508,
    seed_variable: "LOCKSTEP_CRASH_SEED",
    times_variable: "LOCKSTEP_CRASH_TIMES",
};

/// Linearizability of a store under many concurrent clients.
pub(crate) const HISTORIES: Suite = Suite {
    name: "histories",
    tests: &[
        ("lockstep-storage", &["sound_histories"]),
        ("lockstep-storage-embedded", &["histories::"]),
        ("lockstep-storage-etcd", &["histories::"]),
    ],
    rounds: 12,
    seed_variable: "LOCKSTEP_HISTORY_SEED",
    times_variable: "LOCKSTEP_HISTORY_TIMES",
};

/// Writes of objects whose fields have gates, beside a server without gates.
pub(crate) const GATED_WRITES: Suite = Suite {
    name: "gated-writes",
    tests: &[("lockstep-apiserver", &["field_gates::sequences::"])],
    rounds: 6,
    seed_variable: "LOCKSTEP_GATED_SEED",
    times_variable: "LOCKSTEP_GATED_TIMES",
};

/// Runs a suite as CI built it: most of the time goes into processes and disks.
pub(crate) fn run(
    workspace: &Workspace,
    suite: &Suite,
    options: &Options,
) -> anyhow::Result<Outcome> {
    let seed = options.seed.unwrap_or_else(any_seed);
    let times = times(suite.rounds, options.rounds);
    println!(
        "{0}: {1} rounds; repeat with `cargo xtask {0} --rounds {1} --seed {seed}`",
        suite.name,
        times * suite.rounds
    );
    for (package, filters) in suite.tests {
        let mut cargo = process::cargo(workspace.root());
        cargo.args(["test", "--locked", "--package", package]);
        cargo.args(["--tests", "--"]).args(*filters);
        cargo.env(suite.seed_variable, seed.to_string());
        cargo.env(suite.times_variable, times.to_string());
        if !process::succeeds(&mut cargo)? {
            return Ok(Outcome::Red);
        }
    }
    Ok(Outcome::Green)
}

#[derive(Args)]
pub(crate) struct SimOptions {
    /// Number of seeds
    #[arg(long, default_value_t = 100)]
    seeds: u64,
    /// The first seed; by default another one each time
    #[arg(long)]
    seed: Option<u64>,
    /// Plant each known bug, and look for it
    #[arg(long)]
    planted: bool,
}

/// Runs simulated clusters as CI built them.
pub(crate) fn sim(workspace: &Workspace, options: &SimOptions) -> anyhow::Result<Outcome> {
    let seed = options.seed.unwrap_or_else(any_seed).to_string();
    let seeds = options.seeds.to_string();
    println!("sim: repeat with `cargo xtask sim --seeds {seeds} --seed {seed}`");
    let mut cargo = process::cargo(workspace.root());
    cargo.args([
        "run",
        "--locked",
        "--quiet",
        "--package",
        "lockstep-sim",
        "--",
    ]);
    cargo.args(["--seeds", &seeds, "--seed", &seed]);
    if options.planted {
        cargo.arg("--planted");
    }
    Ok(Outcome::of(process::succeeds(&mut cargo)?))
}

#[derive(Args)]
pub(crate) struct EnduranceOptions {
    /// Number of updates of 100 objects
    #[arg(long, default_value_t = 500_000)]
    updates: u64,
}

#[derive(Args)]
pub(crate) struct SoakOptions {
    /// Duration of the churn
    #[arg(long, default_value_t = 60)]
    minutes: u64,
}

/// Compares what a server uses after many updates with what it used after few.
pub(crate) fn endurance(
    workspace: &Workspace,
    options: &EnduranceOptions,
) -> anyhow::Result<Outcome> {
    let updates = options.updates.to_string();
    bounded(
        workspace,
        "endurance::",
        &[("LOCKSTEP_ENDURANCE_UPDATES", &updates)],
    )
}

/// Compares what a server uses after a time of churn with what it used after the warm-up.
pub(crate) fn soak(workspace: &Workspace, options: &SoakOptions) -> anyhow::Result<Outcome> {
    let minutes = options.minutes.to_string();
    let variables = [("LOCKSTEP_SOAK_MINUTES", minutes.as_str())];
    bounded(workspace, "soak::", &variables)
}

#[derive(Args)]
pub(crate) struct HostileOptions {
    /// Duration of the attack
    #[arg(long, default_value_t = 60)]
    minutes: u64,
    /// Repeats the requests of the run that printed this seed
    #[arg(long)]
    seed: Option<u64>,
}

/// Sends the most expensive requests of every kind, beside users with a normal load.
pub(crate) fn hostile(workspace: &Workspace, options: &HostileOptions) -> anyhow::Result<Outcome> {
    let minutes = options.minutes.to_string();
    let seed = options.seed.unwrap_or_else(any_seed).to_string();
    let variables = [
        ("LOCKSTEP_HOSTILE_MINUTES", minutes.as_str()),
        ("LOCKSTEP_HOSTILE_SEED", &seed),
    ];
    bounded(workspace, "hostile::", &variables)
}

/// Runs tests of growth with optimisation, one after the other, and shows their tables.
fn bounded(
    workspace: &Workspace,
    filter: &str,
    variables: &[(&str, &str)],
) -> anyhow::Result<Outcome> {
    let mut cargo = process::cargo(workspace.root());
    cargo.args(["test", "--locked", "--release", "--package", "lockstep"]);
    cargo.args([
        "--test",
        "bounded",
        "--",
        filter,
        "--nocapture",
        "--test-threads",
        "1",
    ]);
    cargo.envs(variables.iter().copied());
    Ok(Outcome::of(process::succeeds(&mut cargo)?))
}

/// Number of runs as in CI that give at least `wanted` rounds.
fn times(rounds_each: u64, wanted: Option<u64>) -> u64 {
    wanted.unwrap_or_default().div_ceil(rounds_each).max(1)
}

/// A seed that no run before had.
fn any_seed() -> u64 {
    #[expect(
        clippy::disallowed_methods,
        reason = "a run without a seed takes a new one and prints it"
    )]
    let now = SystemTime::now();
    let since = now.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(1, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_rounded_up_to_whole_runs() {
        let cases = [(None, 1), (Some(1), 1), (Some(508), 1), (Some(509), 2)];
        for (wanted, expected) in cases {
            assert_eq!(times(508, wanted), expected, "{wanted:?}");
        }
    }
}
