//! Cost of field gates for a write, from the bytes of a request to the bytes in a store, without a network.

mod workload;

use criterion::{Criterion, criterion_group, criterion_main};
use tokio::runtime::Builder;

use workload::{CASES, Workload, name};

/// The product's: with the system's, what an earlier case leaves behind in the heap costs the next up to 40 %.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn writes(criterion: &mut Criterion) {
    for case in CASES {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime can be made");
        let mut workload = runtime.block_on(Workload::new(case));
        criterion.bench_function(&name(case), |bencher| {
            bencher.iter(|| runtime.block_on(workload.write()));
        });
    }
}

criterion_group!(benches, writes);
criterion_main!(benches);
