//! Benchmarks of the embedded store with durable writes.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lockstep_mvcc::{Key, KeyRange, Op, Put, Range, Txn};
use lockstep_storage::{Consistency, Store};
use lockstep_storage_embedded::{EmbeddedStore, Options};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const WRITERS: u64 = 64;
const KEYS: u64 = 10_000;

fn key(nth: u64) -> Key {
    Key::new(format!("/registry/pods/default/pod-{:08}", nth % KEYS)).expect("not empty")
}

async fn put(store: Arc<EmbeddedStore>, nth: u64) {
    let txn = Txn {
        success: vec![Op::Put(Put::new(key(nth), vec![b'v'; 256]))],
        ..Txn::default()
    };
    let txn = txn.check(128).expect("one key is written once");
    store.txn(txn).await.expect("the disk works");
}

fn store(c: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime can be made");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let store = EmbeddedStore::open(folder.path(), &Options::default());
    let store = Arc::new(store.expect("an empty folder can be opened"));
    let mut nth = 0;
    c.bench_function("put, 1 writer", |b| {
        b.iter(|| {
            nth += 1;
            runtime.block_on(put(store.clone(), nth));
        });
    });
    let mut group = c.benchmark_group("concurrent");
    group.throughput(Throughput::Elements(WRITERS));
    group.bench_function("put, 64 writers", |b| {
        b.iter(|| {
            nth += WRITERS;
            runtime.block_on(async {
                let mut writers = JoinSet::new();
                for writer in 0..WRITERS {
                    writers.spawn(put(store.clone(), nth + writer));
                }
                writers.join_all().await
            });
        });
    });
    group.finish();
    c.bench_function("get", |b| {
        b.iter(|| {
            nth += 7919;
            let range = Range::new(KeyRange::single(key(nth)));
            let answer = runtime.block_on(store.range(range, Consistency::Linearizable));
            black_box(answer)
        });
    });
}

criterion_group!(benches, store);
criterion_main!(benches);
