//! Benchmark of `lockstep store` against etcd: one client, one machine, alternating rounds.
//!
//! `cargo xtask bench store` builds the server and passes the paths of the programs. The cost of a server is the
//! CPU time of its process, which other load on the machine disturbs little; latencies and rates are medians of
//! several rounds in which the servers alternate.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark talks to the person who started it"
)]

mod client;
mod contents;
mod embedded;
mod load;
mod parts;
mod server;
mod table;
mod watchers;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use lockstep_testkit::machine;

use parts::{Part, Settings};
use server::Program;
use table::Table;

/// Environment variable with the path of our server.
const LOCKSTEP_VARIABLE: &str = "LOCKSTEP_BENCH_SERVER";
/// Environment variables with paths of etcd.
const ETCD_VARIABLES: [&str; 2] = ["LOCKSTEP_TEST_ETCD", "LOCKSTEP_TEST_ETCD_NEWER"];

/// Compares `lockstep store` with real etcd.
#[derive(Parser)]
#[command(name = "cargo xtask bench store --")]
struct Options {
    /// Number of rounds
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds of load on each server in a round
    #[arg(long, default_value_t = 1.5)]
    seconds: f64,
    /// Only these parts, with commas between
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let options = Options::parse();
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench store: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let duration = Duration::try_from_secs_f64(options.seconds)?;
    let settings = Settings {
        rounds: options.rounds.max(1),
        turn: duration.max(Duration::from_millis(100)),
    };
    let programs = programs()?;
    let mut table = Table::new(programs.iter().map(|program| program.title.clone()));
    let is_wanted = |part: &Part| options.only.is_empty() || options.only.contains(part);
    println!("machine: {}", machine::description());
    // One thread: the client must leave the server a processor of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    for part in Part::ALL.into_iter().filter(is_wanted) {
        eprintln!("bench store: {part} …");
        runtime.block_on(part.run(&programs, settings, &mut table))?;
    }
    println!("\n{table}");
    if programs.len() == 1 {
        println!("there is no etcd here, so nothing is compared; install etcd-server");
    }
    Ok(())
}

/// The servers to compare, ours first.
fn programs() -> anyhow::Result<Vec<Program>> {
    let Some(ours) = std::env::var_os(LOCKSTEP_VARIABLE) else {
        anyhow::bail!("{LOCKSTEP_VARIABLE} is not set; start with `cargo xtask bench store`");
    };
    let mut programs = vec![Program::lockstep(PathBuf::from(ours))];
    for variable in ETCD_VARIABLES {
        match std::env::var_os(variable) {
            Some(path) => programs.push(Program::etcd(PathBuf::from(path))?),
            None => println!("SKIPPED: {variable} is not set"),
        }
    }
    Ok(programs)
}
