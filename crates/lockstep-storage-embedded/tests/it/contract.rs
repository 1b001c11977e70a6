//! The store on a directory keeps the contract.

use std::sync::Arc;

use lockstep_storage::contract::{Rule, Subject};
use lockstep_storage_embedded::{EmbeddedStore, Options};

fn run(rule: Rule) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_time().build();
    runtime.expect("a runtime can be made").block_on(async {
        let store = EmbeddedStore::open(folder.path(), &Options::default());
        let store = store.expect("an empty folder can be opened");
        rule.run(Subject::new(Arc::new(store))).await;
    });
}

lockstep_storage::store_contract!(run);
