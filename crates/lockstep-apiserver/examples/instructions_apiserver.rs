//! Work to count instructions of: `instructions` lists the cases, `instructions CASE ROUNDS` runs one.
//!
//! `cargo xtask bench writes` runs it under callgrind, which counts the same on a busy machine.

#![expect(clippy::print_stdout, reason = "the list of cases is its answer")]

#[path = "../benches/gated_writes/workload.rs"]
mod workload;

use tokio::runtime::Builder;

use workload::{CASES, State, Workload, Write, name};

/// Maximal additional cost of a write with closed gates, in percent of a write without gates.
const PERCENT_CLOSED_MAX: u64 = 10;
/// Maximal additional cost of a write with open gates, in percent of a write without gates.
const PERCENT_OPEN_MAX: u64 = 1;

/// A line of the list: a case, and behind tabs what it is compared with and how much more it may cost.
fn line((write, state): (Write, State)) -> String {
    let percent = match state {
        State::None => return name((write, state)),
        State::Closed => PERCENT_CLOSED_MAX,
        State::Open => PERCENT_OPEN_MAX,
    };
    let base = name((write, State::None));
    format!("{}\t{base}\t{percent}", name((write, state)))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = &arguments[..] else {
        println!("{}", CASES.map(line).join("\n"));
        return;
    };
    let rounds: u64 = rounds.parse().expect("a number of rounds");
    let case = CASES.into_iter().find(|known| name(*known) == **case);
    let case = case.expect("a case of the list");
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async {
        let mut workload = Workload::new(case).await;
        for _ in 0..rounds {
            workload.write().await;
        }
    });
}
