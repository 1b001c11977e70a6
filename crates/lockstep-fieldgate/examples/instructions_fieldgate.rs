//! Work to count instructions of: `instructions` lists the cases, `instructions CASE ROUNDS` runs one.
//!
//! `cargo xtask bench fieldgate` runs it under callgrind, which counts the same on a busy machine.

#![expect(clippy::print_stdout, reason = "the list of cases is its answer")]

#[path = "../benches/step/cases.rs"]
mod cases;

use std::hint::black_box;

use cases::cases;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, rounds] = &arguments[..] else {
        let names: Vec<&str> = cases().iter().map(|case| case.name).collect();
        println!("{}", names.join("\n"));
        return;
    };
    let rounds: u64 = rounds.parse().expect("a number of rounds");
    let mut cases = cases();
    cases.retain(|case| case.name == *name);
    let case = cases.pop().expect("a case of the list");
    let mut new = case.object.clone();
    for _ in 0..rounds {
        let actions = case
            .gates
            .apply(black_box(&mut new), Some(black_box(&case.object)));
        assert!(black_box(actions).is_empty(), "nothing was asked for");
    }
}
