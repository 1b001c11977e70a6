//! Work to count instructions of: `instructions` lists the cases, `instructions CASE ROUNDS` runs one.
//!
//! `cargo xtask bench writes` runs it under callgrind, which counts the same on a busy machine.

#![expect(clippy::print_stdout, reason = "the list of cases is its answer")]

#[path = "../benches/gated_writes/world.rs"]
mod world;

use tokio::runtime::Builder;

use world::{CASES, World, name};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [case, rounds] = &arguments[..] else {
        println!("{}", CASES.map(name).join("\n"));
        return;
    };
    let rounds: u64 = rounds.parse().expect("a number of rounds");
    let case = CASES.into_iter().find(|known| name(*known) == **case);
    let case = case.expect("a case of the list");
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async {
        let mut world = World::new(case).await;
        for _ in 0..rounds {
            world.write().await;
        }
    });
}
