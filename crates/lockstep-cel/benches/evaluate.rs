//! Benchmarks of the performance table: one evaluation with bindings, and compilation.
//!
//! `cargo bench -p lockstep-cel` prints nanoseconds; a filter on the command line selects cases by name.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

#[path = "evaluate/cases.rs"]
mod cases;

use lockstep_cel::{Arena, Env, Version};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The fastest of several rounds, in nanoseconds for one run.
fn measure(mut run: impl FnMut()) -> f64 {
    let mut count = 1_u32;
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let start = Instant::now();
        (0..count).for_each(|_| run());
        let took = start.elapsed();
        best = best.min(took.as_secs_f64() * 1e9 / f64::from(count));
        if took < Duration::from_millis(20) {
            count = count.saturating_mul(4);
        }
    }
    best
}

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let picked = |name: &str| {
        filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
    };
    println!("{:<16} {:>12} {:>12}", "case", "evaluate ns", "compile ns");
    for case in cases::all().iter().filter(|case| picked(&case.name)) {
        let (program, mut arena) = (case.compile(), Arena::new());
        let evaluated = measure(|| case.evaluate(&program, &mut arena));
        let compiled = measure(|| {
            black_box(case.compile());
        });
        println!("{:<16} {evaluated:>12.0} {compiled:>12.0}", case.name);
    }
    let built = measure(|| {
        black_box(Env::kubernetes(Version::LATEST));
    });
    println!("building an environment takes {built:.0} ns");
}
