//! Allocations of an evaluation whose arena is warm (cel.md §15): none when nothing is built, at most two when
//! something is.

#[path = "../benches/evaluate/cases.rs"]
mod cases;

use lockstep_cel::Arena;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Cases that make a list, object, text or quantity.
const BUILD: [&str; 5] = ["format", "map", "filter", "object", "quantity"];
const BUILT_MAX: usize = 2;
/// The harness may allocate at the same moment, which can only add: the least of these is ours.
const MEASUREMENTS: usize = 20;

// One test, so that no other allocates at the same time.
#[test]
fn a_warm_evaluation_allocates_nothing_unless_it_builds_something() {
    let mut wrong = Vec::new();
    for case in cases::all() {
        let (program, mut arena) = (case.compile(), Arena::new());
        case.evaluate(&program, &mut arena);
        let measured = (0..MEASUREMENTS).map(|_| {
            let region = Region::new(COUNTING);
            case.evaluate(&program, &mut arena);
            let change = region.change();
            change.allocations + change.reallocations
        });
        let least = measured.min().expect("it was measured");
        let builds = BUILD.iter().any(|name| case.name.starts_with(name));
        let allowed = if builds { BUILT_MAX } else { 0 };
        if least > allowed {
            wrong.push(format!("{}: {least}, allowed {allowed}", case.name));
        }
    }
    assert_eq!(wrong, [""; 0]);
}
