//! Benchmarks of gates (feature-gates.md §12): `cargo bench -p lockstep-featuregate`.
//!
//! Criterion reports times. The readers beside a flipping gate are measured as throughput, and the
//! ratio is printed: `8 readers, cluster gate flips every millisecond: 99.8 % of …`.

#![allow(missing_docs, reason = "criterion's macros write public functions")]

use std::{
    hint::black_box,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_featuregate::{
    BinaryVersion, Builder, Component, Entry, Feature, Gates, Registry, Stage, Started, enabled,
    features, v,
};

features! {
    kube {
        Quick { "1.36": Beta on },
        Agreed { "1.36": Beta, scope: cluster },
    }
}

const GATES: usize = 250;
const SETTINGS: usize = 100;
const READERS: usize = 8;
const ROUND: Duration = Duration::from_millis(250);
const ROUNDS: usize = 12;

fn name(at: usize) -> String {
    format!("SomeFeatureWithALongName{at}")
}

/// Histories of three entries, as long as real ones become.
fn component(gates: usize) -> Component {
    let entry = |version, stage, default, lock_to_default| Entry {
        version,
        default,
        lock_to_default,
        stage,
        min_compatibility: None,
    };
    let mut component =
        Component::declared(BinaryVersion::of(v(1, 37)), &[&KUBE]).expect("declared gates fit");
    for at in 0..gates {
        let entries = [
            entry(v(1, 34), Stage::Alpha, false, false),
            entry(v(1, 36), Stage::Beta, true, false),
            entry(v(1, 38), Stage::Ga, true, true),
        ];
        let added = component.add(Feature::new(name(at), entries));
        added.expect("a history that fits");
    }
    component
}

fn start(gates: usize, flag: &str) -> Started {
    let registry = Registry::new([component(gates)]).expect("one component");
    let started = Builder::new(registry).flag(flag).try_finish();
    started.expect("it starts")
}

fn reading(criterion: &mut Criterion) {
    let gates = start(GATES, "").gates;
    gates.install();
    criterion.bench_function("enabled/static", |bencher| {
        bencher.iter(|| enabled!(QUICK));
    });
    criterion.bench_function("enabled/handle", |bencher| {
        bencher.iter(|| black_box(&gates).enabled(QUICK));
    });
    criterion.bench_function("get/by name", |bencher| {
        bencher.iter(|| black_box(&gates).get("SomeFeatureWithALongName125"));
    });
}

fn starting(criterion: &mut Criterion) {
    let settings: Vec<String> = (0..SETTINGS)
        .map(|at| format!("{}={}", name(at), at % 2 == 0))
        .collect();
    let flag = settings.join(",");
    criterion.bench_function("start/250 gates, 100 settings", |bencher| {
        bencher.iter(|| start(GATES, black_box(&flag)));
    });
}

/// Millions of reads a second by all readers together, while the gate flips or not.
fn million_reads_per_second(started: &mut Started, flips: bool) -> f64 {
    let stop = AtomicBool::new(false);
    let gates: &Gates = &started.gates.clone();
    let thousands: u32 = thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|_| scope.spawn(|| read(gates, &stop)))
            .collect();
        let flipper = scope.spawn(|| {
            let mut value = false;
            while !stop.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
                value = !value;
                if flips {
                    assert!(started.cluster_switch.set("kube", "Agreed", value));
                }
            }
        });
        thread::sleep(ROUND);
        stop.store(true, Ordering::Relaxed);
        flipper.join().expect("the flipper ends");
        readers
            .into_iter()
            .map(|reader| reader.join().expect("a reader ends"))
            .sum()
    });
    f64::from(thousands) / 1_000.0 / ROUND.as_secs_f64()
}

/// Reads in thousands that one reader completes until it is stopped.
fn read(gates: &Gates, stop: &AtomicBool) -> u32 {
    let mut thousands = 0;
    while !stop.load(Ordering::Relaxed) {
        for _ in 0..1_000 {
            black_box(black_box(gates).enabled(AGREED));
        }
        thousands += 1;
    }
    thousands
}

/// Rounds with and without flips alternate, so that a busy machine slows both; medians are compared.
#[expect(clippy::print_stdout, reason = "a benchmark prints what it measures")]
fn flipping(_: &mut Criterion) {
    let mut started = start(GATES, "");
    let (mut still, mut flipped) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        still.push(million_reads_per_second(&mut started, false));
        flipped.push(million_reads_per_second(&mut started, true));
    }
    let [still, flipped] = [still, flipped].map(median);
    println!(
        "{READERS} readers, cluster gate flips every millisecond: {:.1} % of the {:.0} million reads \
         a second without flips",
        100.0 * flipped / still,
        still
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_secs(1));
    targets = reading, starting, flipping
}
criterion_main!(benches);
