//! The store in memory keeps the contract.

use std::sync::Arc;

use lockstep_storage::contract::{Rule, Subject};
use lockstep_storage::{Limits, MemoryStore};

/// Time stands still unless everybody waits for it, so no rule depends on the machine's speed.
fn run(rule: Rule) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async {
        let store = MemoryStore::start(Limits::default());
        rule.run(Subject::new(Arc::new(store))).await;
    });
}

lockstep_storage::store_contract!(run);

/// The same rules while other threads really run at the same time.
#[test]
fn one_store_keeps_all_rules_on_many_threads() {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.enable_time().worker_threads(4).build();
    let runtime = runtime.expect("a runtime can be made");
    runtime.block_on(async {
        let store = Arc::new(MemoryStore::start(Limits::default()));
        for rule in lockstep_storage::contract::RULES {
            let subject = Subject::new(store.clone());
            runtime
                .spawn(rule.run(subject))
                .await
                .unwrap_or_else(|_| panic!("{}", rule.name));
        }
    });
}
