//! The in-memory store passes the contract suite.

use std::sync::Arc;

use lockstep_storage::contract::{Rule, Subject};
use lockstep_storage::{Limits, MemoryStore};

/// Runs a rule with paused time, so that it does not depend on the machine's speed.
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

/// Runs all rules against one store on a multi-threaded runtime.
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
