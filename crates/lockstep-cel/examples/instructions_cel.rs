//! Work to count instructions of: `instructions` lists the cases, `instructions CASE ROUNDS` runs one.
//!
//! `cargo xtask bench cel` runs it under callgrind, which counts the same on a busy machine.

#![expect(clippy::print_stdout, reason = "the list of cases is its answer")]

#[path = "../benches/evaluate/cases.rs"]
mod cases;

use lockstep_cel::Arena;
use std::hint::black_box;

/// Prefix of the name of a case that is compiled rather than run.
const COMPILE: &str = "compile ";

/// Too long for a program that runs many times slower than it would by itself.
const LEFT_OUT: &str = "exists_one-100";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let cases = cases::all();
    let [name, rounds] = &arguments[..] else {
        let counted = || cases.iter().filter(|case| case.name != LEFT_OUT);
        counted().for_each(|case| println!("{}", case.name));
        let compiled = counted().filter(|case| !case.name.ends_with('0'));
        compiled.for_each(|case| println!("{COMPILE}{}", case.name));
        return;
    };
    let rounds: u64 = rounds.parse().expect("a number of rounds");
    let named = name.strip_prefix(COMPILE).unwrap_or(name);
    let case = cases.iter().find(|case| case.name == named);
    let case = case.expect("a case of the list");
    if named != name {
        (0..rounds).for_each(|_| {
            black_box(case.compile());
        });
        return;
    }
    let (program, mut arena) = (case.compile(), Arena::new());
    (0..rounds).for_each(|_| case.evaluate(&program, &mut arena));
}
