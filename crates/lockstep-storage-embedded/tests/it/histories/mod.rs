//! Linearizability of the embedded store under concurrent clients and watchers.

mod reopening;

use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::Store;
use lockstep_storage::contract::histories::{self, History, Plan, seeds};
use lockstep_storage_embedded::{EmbeddedStore, Inspection, Options};

use crate::rng::fast_folder;
use reopening::Reopening;

#[test]
fn the_store_on_a_directory_gives_sound_histories() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(4).enable_time().build().unwrap();
    for seed in seeds("embedded", 12) {
        let folder = fast_folder();
        let options = Options {
            segment_bytes: 4096,
            state_interval: Duration::from_millis(1),
            ..Options::default()
        };
        let store = EmbeddedStore::open(folder.path(), &options).unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let history = runtime.block_on(histories::record(
            std::slice::from_ref(&store),
            Plan::new(seed),
        ));
        check(&history, seed);
        drop(store);
        // The data directory contains the final revision.
        let inspection = Inspection::of(folder.path()).unwrap();
        let revision = inspection.machine.map(|machine| machine.revision());
        assert_eq!(revision, Some(history.end), "seed {seed}");
    }
}

/// Histories across crashes: acknowledged writes survive, an uncertain write happens at most once, and a resumed
/// watch has no gap.
#[test]
fn a_store_that_dies_again_and_again_gives_sound_histories() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(4).enable_time().build().unwrap();
    let mut lives = 0;
    for seed in seeds("reopening", 8) {
        let reopening = Arc::new(Reopening::new(seed));
        let store: Arc<dyn Store> = reopening.clone();
        let plan = Plan {
            // An abandoned write may be applied after a restart, which the checker does not allow.
            abandon: false,
            ..Plan::new(seed)
        };
        let history = runtime.block_on(histories::record(&[store], plan));
        check(&history, seed);
        lives += reopening.lives();
    }
    assert!(lives > 16, "the stores died: {lives} lives");
}

fn check(history: &History, seed: u64) {
    if let Err(violations) = histories::check(history) {
        let shown: String = violations.iter().map(|it| format!("{it}\n")).collect();
        panic!("seed {seed}:\n{shown}");
    }
}
