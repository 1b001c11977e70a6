//! Chores of this repository, run as `cargo xtask`: one file a subcommand.
//!
//! What to check is decided by pure functions over text, tables and a parsed `cargo metadata`;
//! only `process` and the `run` function of each chore touch the machine.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who started it"
)]

mod bench;
mod ci;
mod endurance;
mod generated;
mod metadata;
mod process;
mod programs;
mod test;
mod tidy;
mod ui;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use workspace::Workspace;

/// Chores of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Everything a change has to pass: format, lints, tests, docs, tidy, generated files, licences
    Ci(ci::Options),
    /// Run all tests, fetching the outside programs they talk to where that is possible
    Test(test::Options),
    /// Check the habits that no compiler knows: crate layers, manifests, module docs, file sizes
    Tidy,
    /// Rewrite the generated files, or check that they are fresh
    Gen(generated::Options),
    /// Build the dashboard and check that what is committed is what its sources build to
    Ui,
    /// Run benchmarks
    Bench(bench::Options),
    /// Kill stores and take their power away, again and again
    Crash(endurance::Options),
    /// Check the histories of many concurrent clients of a store
    Histories(endurance::Options),
    /// Run simulated clusters of the replicated store from seeds
    Sim(endurance::SimOptions),
    /// Writes objects with gated fields at random, and compares with a server without gates
    GatedWrites(endurance::Options),
    /// Update 100 objects 500,000 times, and check that memory, disk and start time stay where they were
    Endurance(endurance::EnduranceOptions),
    /// Create, change and delete objects of all kinds for an hour, and check that nothing of it is left
    Soak(endurance::SoakOptions),
    /// Send a server the most expensive requests, and see that other users are answered
    Hostile(endurance::HostileOptions),
}

/// Result of a chore that ran to its end. A chore that could not run at all is an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Green,
    Red,
}

impl Outcome {
    fn of(is_success: bool) -> Self {
        if is_success { Self::Green } else { Self::Red }
    }
}

fn main() -> ExitCode {
    match run(Cli::parse().chore) {
        Ok(Outcome::Green) => ExitCode::SUCCESS,
        Ok(Outcome::Red) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> anyhow::Result<Outcome> {
    let workspace = Workspace::locate()?;
    match chore {
        Chore::Ci(options) => Ok(ci::run(&workspace, &options)),
        Chore::Test(options) => test::run(&workspace, &options),
        Chore::Tidy => tidy::run(&workspace),
        Chore::Gen(options) => generated::run(&workspace, &options),
        Chore::Ui => ui::check(&workspace),
        Chore::Bench(options) => bench::run(&workspace, &options),
        Chore::Histories(options) => endurance::run(&workspace, &endurance::HISTORIES, &options),
        Chore::Sim(options) => endurance::sim(&workspace, &options),
        Chore::GatedWrites(options) => {
            endurance::run(&workspace, &endurance::GATED_WRITES, &options)
        }
        Chore::Endurance(options) => endurance::endurance(&workspace, &options),
        Chore::Soak(options) => endurance::soak(&workspace, &options),
        Chore::Hostile(options) => endurance::hostile(&workspace, &options),
        Chore::Crash(options) => endurance::run(&workspace, &endurance::CRASH, &options),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
