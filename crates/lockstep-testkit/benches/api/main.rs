//! Benchmark of the API server against a kube-apiserver.
//!
//! `cargo xtask bench api` builds the server and starts this. The cost of a server is the processor time of
//! its process, which other work on the machine disturbs little. With `LOCKSTEP_BENCH_KUBE_APISERVER` and
//! `LOCKSTEP_BENCH_ETCD` a kube-apiserver runs the same load on the same machine; without them the
//! figures stand beside those that one gave on a machine of this size.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a benchmark talks to the person who started it"
)]

mod client;
mod crowd;
mod load;
mod objects;
mod parts;
mod policies;
mod server;
mod table;
mod watch;
mod wide;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use lockstep_testkit::machine;

use parts::{Part, Settings};
use server::Program;
use table::Table;

/// Measures what the API costs.
#[derive(Parser)]
#[command(name = "cargo xtask bench api --")]
struct Options {
    /// Objects to make, get, list and change
    #[arg(long, default_value_t = 3_300)]
    objects: usize,
    /// Clients at once, each with a connection of its own
    #[arg(long, default_value_t = 32)]
    clients: usize,
    /// CRDs to start with in `crds`
    #[arg(long, default_value_t = 1_000)]
    crds: usize,
    /// CRDs of 200 fields to make in `wide`
    #[arg(long, default_value_t = 300)]
    wide: usize,
    /// Objects to hold in `memory`
    #[arg(long, default_value_t = 100_000)]
    many: usize,
    /// Watches to open in `crowd`, a tenth of which are not read
    #[arg(long, default_value_t = 10_000)]
    watches: usize,
    /// Policies to bind in `policies`, beside those that a create is measured with
    #[arg(long, default_value_t = 5_000)]
    policies: usize,
    /// Number of runs of `start`, `requests` and `watch`; the table shows the median
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Only these parts, with commas between. Left out, all but `policies` run, and a kube-apiserver runs
    /// `start`, `requests` and `watch`
    #[arg(long, value_delimiter = ',')]
    only: Vec<Part>,
    /// Given by cargo
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench api: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> anyhow::Result<()> {
    let Some(ours) = std::env::var_os("LOCKSTEP_BENCH_SERVER") else {
        anyhow::bail!("LOCKSTEP_BENCH_SERVER is not set; start with `cargo xtask bench api`");
    };
    let mut programs = vec![Program::Lockstep(PathBuf::from(ours))];
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let reference = variable("LOCKSTEP_BENCH_KUBE_APISERVER").zip(variable("LOCKSTEP_BENCH_ETCD"));
    let is_live = reference.is_some();
    programs.extend(reference.map(|(server, etcd)| Program::Kubernetes { server, etcd }));
    let settings = Settings {
        objects: options.objects.max(100),
        clients: options.clients.max(1),
        crds: options.crds,
        wide: options.wide.max(1),
        many: options.many,
        watches: options.watches,
        policies: options.policies,
    };
    println!("machine: {}", machine::description());
    // One thread: the client must leave the server a processor of its own.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut table = Table::default();
    // The programs take turns, so that a machine that is slow for a while is slow for both.
    for part in Part::ALL {
        let rounds = if part.is_compared() {
            options.rounds.max(1)
        } else {
            1
        };
        for round in 1..=rounds {
            for program in programs
                .iter()
                .filter(|program| runs(program, part, &options.only))
            {
                eprintln!("bench api: {part} {round}/{rounds}, {} …", program.title());
                runtime.block_on(part.run(program, settings, &mut table))?;
            }
        }
    }
    if !is_live {
        println!(
            "the reference is kube-apiserver 1.36.4 on etcd 3.6.8, measured earlier on a machine of 2 cores;"
        );
        println!("set LOCKSTEP_BENCH_KUBE_APISERVER and LOCKSTEP_BENCH_ETCD to measure it here");
    }
    println!("\n{}", table.text(is_live));
    Ok(())
}

/// Whether a program runs a part. A kube-apiserver takes many minutes and gigabytes for what is not
/// about the cost of one request, so it does that only when asked to.
fn runs(program: &Program, part: Part, only: &[Part]) -> bool {
    match program {
        _ if !only.is_empty() => only.contains(&part),
        Program::Lockstep(_) => part != Part::Policies,
        Program::Kubernetes { .. } => part.is_compared(),
    }
}
