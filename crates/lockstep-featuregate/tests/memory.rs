//! Memory use of a set; reading it allocates nothing (feature-gates.md §12/memory, §0/U9, §7/check).

use std::{alloc::System, hint::black_box};

use lockstep_featuregate::{
    BinaryVersion, Builder, Component, Entry, Feature, Gates, Registry, Stage, features, v,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

features! { kube { Quick { "1.36": Beta on } } }

const GATES: usize = 250;
const SETTINGS: usize = 100;
const SET_BYTES_MAX: usize = 32 * 1024;
/// The harness may allocate at the same moment, which can only add: the least of these is ours.
const MEASUREMENTS: usize = 20;

fn name(at: usize) -> String {
    format!("SomeFeatureWithALongName{at}")
}

fn registry() -> Registry {
    let component = Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]);
    let mut component = component.expect("declared gates fit");
    for at in 1..GATES {
        let entry = Entry {
            version: v(1, 36),
            default: false,
            lock_to_default: false,
            stage: Stage::Alpha,
            min_compatibility: None,
        };
        let added = component.add(Feature::new(name(at), [entry]));
        added.expect("a history that fits");
    }
    Registry::new([component]).expect("one component")
}

/// Runs `body` several times; each measurement is what it allocated until its result is dropped.
fn measure<T>(mut body: impl FnMut() -> T) -> Vec<Stats> {
    let one = |_| {
        let region = Region::new(COUNTING);
        let made = body();
        let change = region.change();
        drop(made);
        change
    };
    (0..MEASUREMENTS).map(one).collect()
}

// One test, so that no other allocates at the same time.
#[test]
fn a_set_of_250_gates_is_small_and_reading_it_allocates_nothing() {
    let settings: Vec<String> = (1..=SETTINGS)
        .map(|at| format!("{}=true", name(at)))
        .collect();
    let flag = settings.join(",");
    let without = Builder::new(registry());
    let start = || -> Gates {
        let started = without.clone().flag(flag.as_str()).try_finish();
        started.expect("it starts").gates
    };
    let kept = measure(start)
        .into_iter()
        .map(|change| change.bytes_allocated - change.bytes_deallocated);
    let kept = kept.min().expect("measurements");
    println!("a set of {GATES} gates with {SETTINGS} settings: {kept} bytes beside its registry");
    assert!(kept <= SET_BYTES_MAX, "{kept} bytes");
    assert!(
        kept > GATES,
        "one byte a gate at least: {kept} bytes were counted"
    );

    let gates = start();
    gates.install();
    let reads = measure(|| {
        let handle = (0..1_000)
            .filter(|_| black_box(&gates).enabled(black_box(QUICK)))
            .count();
        let process = (0..1_000)
            .filter(|_| lockstep_featuregate::enabled!(QUICK))
            .count();
        (handle, process)
    });
    let allocations = reads
        .into_iter()
        .map(|change| change.allocations + change.reallocations)
        .min();
    assert_eq!(allocations, Some(0));
    let copies = measure(|| gates.clone());
    let allocations = copies
        .into_iter()
        .map(|change| change.allocations + change.reallocations)
        .min();
    assert_eq!(allocations, Some(0), "a copy is another handle");
}
