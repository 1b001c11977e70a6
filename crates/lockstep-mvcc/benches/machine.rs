//! Benchmarks of the machine with 100,000 keys of 1 KiB.

use std::hint::black_box;

use bytes::Bytes;
use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_mvcc::{
    Budget, Command, Compare, Comparison, Content, Key, KeyRange, Machine, Op, Predicate, Put,
    Range, Revision, Sweep, Txn, WatchSelector,
};

const KEYS: u64 = 100_000;

/// A permutation of the keys without locality.
fn scattered(nth: u64) -> u64 {
    const STEP: u64 = 61_803;
    nth * STEP % KEYS
}

fn key(nth: u64) -> Key {
    Key::new(format!(
        "/registry/pods/namespace-{:03}/pod-{nth:08}",
        nth % 100
    ))
    .expect("not empty")
}

fn put(nth: u64, value: &Bytes) -> Command {
    Command::Put(Put::new(key(nth), value.clone()))
}

fn filled() -> Machine {
    let mut machine = Machine::default();
    for nth in 0..KEYS {
        let value = Bytes::from(vec![b'v'; 1024]);
        machine.apply(put(scattered(nth), &value));
    }
    machine
}

fn compact(machine: &mut Machine) {
    let at = machine.revision();
    machine.apply(Command::Compact { at });
    while machine.sweep(1000) == Sweep::More {}
}

fn writes(c: &mut Criterion) {
    let value = Bytes::from(vec![b'v'; 1024]);
    let mut machine = filled();
    let mut nth = 0;
    c.bench_function("put over an existing key", |b| {
        b.iter(|| {
            nth += 1;
            black_box(machine.apply(put(scattered(nth), &value)));
            if nth % KEYS == 0 {
                compact(&mut machine);
            }
        });
    });
    compact(&mut machine);
    c.bench_function("update with two compares", |b| {
        b.iter(|| {
            nth += 1;
            let moved = |nth| Compare {
                keys: KeyRange::single(key(nth)),
                comparison: Comparison::Greater,
                predicate: Predicate::ModRevision(0),
            };
            let txn = Txn {
                compares: vec![moved(scattered(nth)), moved(7)],
                success: vec![Op::Put(Put::new(key(scattered(nth)), value.clone()))],
                failure: vec![],
            };
            let txn = txn.check(128).expect("one key is written once");
            black_box(machine.apply(Command::Txn(txn)));
            if nth % KEYS == 0 {
                compact(&mut machine);
            }
        });
    });
    c.bench_function("put of a new key", |b| {
        let mut fresh = Machine::default();
        let mut nth = 0;
        b.iter(|| {
            nth += 1;
            if nth % KEYS == 0 {
                fresh = Machine::default();
            }
            black_box(fresh.apply(put(scattered(nth), &value)));
        });
    });
}

fn reads(c: &mut Criterion) {
    let mut machine = filled();
    let mut nth = 0;
    c.bench_function("get", |b| {
        b.iter(|| {
            nth += 1;
            let range = Range::new(KeyRange::single(key(scattered(nth))));
            black_box(machine.range(&range))
        });
    });
    let page = Range {
        limit: 500,
        ..Range::new(KeyRange::prefix("/registry/pods/"))
    };
    let count = Range {
        content: Content::CountOnly,
        ..Range::new(KeyRange::prefix("/registry/pods/"))
    };
    c.bench_function("list 500 of 100k", |b| {
        b.iter(|| black_box(machine.range(&page)));
    });
    c.bench_function("count 100k", |b| {
        b.iter(|| black_box(machine.range(&count)));
    });
    let at = Some(machine.revision());
    let value = Bytes::from_static(b"newer");
    for nth in 0..1000 {
        machine.apply(put(scattered(nth), &value));
    }
    let past = Range { at, ..page };
    c.bench_function("list 500 of 100k, 1000 revisions ago", |b| {
        b.iter(|| black_box(machine.range(&past)));
    });
    let selector = WatchSelector::new(KeyRange::prefix("/registry/pods/"));
    let budget = Budget {
        events_max: 1000,
        changes_max: 1000,
        bytes_max: usize::MAX,
    };
    let from = machine.revision().previous();
    let from = Revision(from.0 - 998);
    c.bench_function("read 1000 events", |b| {
        b.iter(|| black_box(machine.events(&selector, from, budget)));
    });
}

criterion_group!(benches, writes, reads);
criterion_main!(benches);
