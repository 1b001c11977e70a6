//! Linearizability of the store on etcd under concurrent clients and watchers.

use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::contract::histories::{self, Plan, seeds};
use lockstep_storage::{
    CheckedTxn, Consistency, GrantedLease, LeaseId, LeaseStatus, LeaseTtl, Range, RangeResponse,
    ReadFailure, Revision, Store, StoreFuture, TxnResponse, Watch, WatchRequest, WriteFailure,
};
use lockstep_storage_etcd::{EtcdStore, Options};
use tokio::runtime::Runtime;

use crate::etcd::{Member, Release, Security, start_cluster};
use crate::proxy::Proxy;

/// Without abandoned writes: inside etcd they may be applied after later requests, which the checker does not
/// allow.
fn plan(seed: u64) -> Plan {
    Plan {
        abandon: false,
        ..Plan::new(seed)
    }
}

async fn check(stores: &[Arc<dyn Store>], seed: u64) {
    let history = histories::record(stores, plan(seed)).await;
    if let Err(violations) = histories::check(&history) {
        let shown: String = violations.iter().map(|it| format!("{it}\n")).collect();
        panic!("seed {seed}:\n{shown}");
    }
}

/// A new etcd each time: a history begins without keys.
#[test]
fn etcd_gives_sound_histories() {
    for release in [Release::Packaged, Release::Newer] {
        let Some(program) = release.program() else {
            continue;
        };
        for seed in seeds("etcd", 2) {
            let member = Member::start(&program);
            Runtime::new().unwrap().block_on(async {
                let store: Arc<dyn Store> = Arc::new(member.connect().await);
                check(&[store], seed).await;
            });
        }
    }
}

/// Each store object uses another member first, so answers of all three have to fit together.
#[test]
fn three_members_give_sound_histories() {
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    for seed in seeds("three members of etcd", 1) {
        let members = start_cluster(&program, 3, &Security::default());
        let mut urls: Vec<_> = members.iter().map(Member::url).collect();
        Runtime::new().unwrap().block_on(async {
            let mut stores: Vec<Arc<dyn Store>> = Vec::new();
            for _ in &members {
                let store = EtcdStore::connect(Options::new(urls.iter().copied())).await;
                stores.push(Arc::new(store.unwrap()));
                urls.rotate_left(1);
            }
            check(&stores, seed).await;
        });
    }
}

#[test]
fn a_wire_that_is_cut_again_and_again_gives_sound_histories() {
    const CUT_EVERY: Duration = Duration::from_millis(150);
    let Some(program) = Release::Packaged.program() else {
        return;
    };
    for seed in seeds("etcd behind a bad wire", 2) {
        let member = Member::start(&program);
        Runtime::new().unwrap().block_on(async {
            let wires = [Proxy::to(member.url()).await, Proxy::to(member.url()).await];
            let urls = wires.iter().map(Proxy::url);
            let cut = EtcdStore::connect(Options::new(urls)).await.unwrap();
            let cut: Arc<dyn Store> = Arc::new(RetryingStore(cut));
            let whole: Arc<dyn Store> = Arc::new(member.connect().await);
            let cutting = async {
                let mut cuts = tokio::time::interval(CUT_EVERY);
                for wire in wires.iter().cycle() {
                    cuts.tick().await;
                    wire.cut();
                    wire.mend();
                }
            };
            let stores = [whole, cut];
            tokio::select! {
                () = check(&stores, seed) => {}
                () = cutting => {}
            }
        });
    }
}

/// Retries the creation of watches, which may time out on a busy machine.
struct RetryingStore(EtcdStore);

impl Store for RetryingStore {
    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        Box::pin(async move {
            loop {
                let watch = self.0.watch(request.clone()).await;
                if watch.is_ok() {
                    return watch;
                }
                tokio::task::yield_now().await;
            }
        })
    }

    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        self.0.range(range, consistency)
    }

    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        self.0.txn(txn)
    }

    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        self.0.revision(consistency)
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.0.compact(at)
    }

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        self.0.size()
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        self.0.grant_lease(ttl)
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.0.revoke_lease(id)
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        self.0.keep_lease_alive(id)
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        self.0.lease(id)
    }
}
