//! Benchmarks of the embedded store in this process, without a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lockstep_mvcc::{Key, KeyRange, Op, Put, Range, Txn};
use lockstep_storage::{Consistency, Store};
use lockstep_storage_embedded::{EmbeddedStore, Options};
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::contents::{self, KEYS, MANY_KEYS};
use crate::load::{as_float, now};

/// Reads timed together: a single one is too short for the clock.
const READS: usize = 100;
/// Keys read in turn, more than fit into the CPU caches.
const READ_KEYS: u64 = 10_000;

pub(crate) struct Embedded {
    store: Arc<EmbeddedStore>,
    _folder: TempDir,
}

impl Embedded {
    pub(crate) fn open() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let store = EmbeddedStore::open(folder.path(), &Options::default())?;
        Ok(Self {
            store: Arc::new(store),
            _folder: folder,
        })
    }

    /// Puts a second by so many writers.
    pub(crate) async fn puts(&self, writers: usize, turn: Duration) -> anyhow::Result<f64> {
        let next = Arc::new(AtomicU64::new(0));
        let value = contents::value(contents::VALUE_BYTES);
        let start = now();
        let mut tasks = JoinSet::new();
        for _ in 0..writers {
            let (store, next, value) = (self.store.clone(), next.clone(), value.clone());
            tasks.spawn(async move {
                let mut done = 0;
                while start.elapsed() < turn {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    put(&store, &contents::key(nth, KEYS), &value).await?;
                    done += 1;
                }
                anyhow::Ok(done)
            });
        }
        let mut done = 0;
        while let Some(writer) = tasks.join_next().await {
            done += writer??;
        }
        Ok(as_float(done) / start.elapsed().as_secs_f64())
    }

    pub(crate) async fn fill(&self) -> anyhow::Result<()> {
        let value = contents::value(contents::VALUE_BYTES);
        let mut tasks = JoinSet::new();
        let next = Arc::new(AtomicU64::new(0));
        for _ in 0..64 {
            let (store, next, value) = (self.store.clone(), next.clone(), value.clone());
            tasks.spawn(async move {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    if nth >= MANY_KEYS {
                        return anyhow::Ok(());
                    }
                    put(&store, &contents::key(nth, MANY_KEYS), &value).await?;
                }
            });
        }
        while let Some(writer) = tasks.join_next().await {
            writer??;
        }
        Ok(())
    }

    /// Mean duration of a read in microseconds.
    pub(crate) async fn read_micros(&self, turn: Duration) -> anyhow::Result<f64> {
        let keys: Result<Vec<_>, _> = (0..READ_KEYS)
            .map(|nth| Key::new(contents::key(nth * 97, MANY_KEYS)))
            .collect();
        let keys = keys?;
        let mut batches = Vec::new();
        let start = now();
        for some in keys.chunks(READS).cycle() {
            if start.elapsed() >= turn && !batches.is_empty() {
                break;
            }
            let batch = now();
            for key in some {
                let range = Range::new(KeyRange::single(key.clone()));
                let answer = self.store.range(range, Consistency::Linearizable).await?;
                anyhow::ensure!(answer.kvs.len() == 1, "a key is missing");
            }
            batches.push(batch.elapsed());
        }
        batches.sort_unstable();
        let median = batches[batches.len() / 2];
        Ok(median.as_secs_f64() * 1e6 / as_float(READS as u64))
    }
}

async fn put(store: &EmbeddedStore, key: &str, value: &Bytes) -> anyhow::Result<()> {
    // Copies key and value, as a caller with its own buffers would.
    let put = Put::new(Key::new(key.to_owned())?, value.to_vec());
    let txn = Txn {
        success: vec![Op::Put(put)],
        ..Txn::default()
    };
    store.txn(txn.check(128)?).await?;
    Ok(())
}
