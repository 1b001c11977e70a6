//! Cost of the gate step per write.

mod cases;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};

use cases::cases;

fn step(criterion: &mut Criterion) {
    for case in cases() {
        let mut new = case.object.clone();
        criterion.bench_function(case.name, |bencher| {
            bencher.iter(|| {
                let stored = Some(black_box(&case.object));
                case.gates.apply(black_box(&mut new), stored)
            });
        });
    }
}

criterion_group!(benches, step);
criterion_main!(benches);
