//! Health endpoints during failures: api-machinery.md §2/health.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use lockstep_storage::{
    CheckedTxn, Consistency, GrantedLease, LeaseId, LeaseStatus, LeaseTtl, Range, RangeResponse,
    ReadFailure, Revision, Store, StoreFuture, TxnResponse, Unavailable, Watch, WatchRequest,
    WriteFailure,
};

use crate::server::{Setup, TestServer, memory};

fn away() -> Unavailable {
    Unavailable {
        reason: "it is away".to_owned(),
    }
}

/// A store that can be out of reach.
struct Moody {
    store: Arc<dyn Store>,
    is_away: Arc<AtomicBool>,
    /// Reason why it refuses writes.
    outage: Arc<Mutex<Option<String>>>,
}

impl Moody {
    /// Passes on the inner store's response, or `Unavailable` while the store is away.
    fn unless_away<'a, T: Send + 'a, E: From<Unavailable> + Send + 'a>(
        &'a self,
        answer: StoreFuture<'a, Result<T, E>>,
    ) -> StoreFuture<'a, Result<T, E>> {
        if self.is_away.load(Ordering::Relaxed) {
            return Box::pin(async { Err(away().into()) });
        }
        answer
    }
}

impl Store for Moody {
    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        self.unless_away(self.store.range(range, consistency))
    }

    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        self.unless_away(self.store.txn(txn))
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        self.unless_away(self.store.watch(request))
    }

    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        self.unless_away(self.store.revision(consistency))
    }

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        self.unless_away(self.store.size())
    }

    fn write_outage(&self) -> Option<String> {
        self.outage.lock().unwrap().clone()
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.store.compact(at)
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        self.store.grant_lease(ttl)
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.store.revoke_lease(id)
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        self.store.keep_lease_alive(id)
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        self.unless_away(self.store.lease(id))
    }
}

/// The names of checks that failed.
fn failed(verbose: &str) -> Vec<&str> {
    let lines = verbose.lines().filter_map(|line| line.strip_prefix("[-]"));
    lines
        .map(|line| line.strip_suffix(" failed: reason withheld").unwrap())
        .collect()
}

#[tokio::test]
async fn a_store_that_is_away_is_told_until_it_is_back() {
    let is_away = Arc::new(AtomicBool::new(false));
    let store = Arc::new(Moody {
        store: memory(),
        is_away: Arc::clone(&is_away),
        outage: Arc::default(),
    });
    let server = TestServer::with(Setup {
        store,
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    is_away.store(true, Ordering::Relaxed);
    for endpoint in ["/livez", "/livez/etcd"] {
        let answer = client.get(endpoint).await;
        assert_eq!(
            answer.brief(),
            (200, "ok"),
            "a restart brings no store back"
        );
    }
    for endpoint in ["healthz", "readyz"] {
        let answer = client.get(&format!("/{endpoint}")).await;
        assert_eq!(answer.status, 500, "{endpoint}");
        assert_eq!(
            failed(&answer.body),
            ["etcd", "poststarthook/storage-readiness"]
        );
        let last = format!("{endpoint} check failed");
        assert_eq!(answer.body.lines().last(), Some(last.as_str()));
        let without = "exclude=etcd&exclude=poststarthook/storage-readiness";
        let answer = client.get(&format!("/{endpoint}?{without}")).await;
        assert_eq!(answer.brief(), (200, "ok"));
    }
    let single = client.get("/readyz/etcd").await;
    assert_eq!(single.status, 500);
    assert_eq!(client.get("/readyz/ping").await.brief(), (200, "ok"));
    is_away.store(false, Ordering::Relaxed);
    assert_eq!(client.get("/readyz").await.brief(), (200, "ok"));
}

#[tokio::test]
async fn a_store_that_cannot_write_is_not_ready_and_says_why() {
    let outage: Arc<Mutex<Option<String>>> = Arc::default();
    let store = Arc::new(Moody {
        store: memory(),
        is_away: Arc::default(),
        outage: Arc::clone(&outage),
    });
    let server = TestServer::with(Setup {
        store,
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    *outage.lock().unwrap() = Some("the disk is full".to_owned());
    let answer = client.get("/readyz").await;
    let lines: Vec<_> = answer.body.lines().collect();
    assert_eq!(answer.status, 500);
    assert!(
        lines.contains(&"[-]store-writable failed: the disk is full"),
        "{lines:?}"
    );
    let single = client.get("/readyz/store-writable").await;
    let told = "internal server error: the disk is full\n";
    assert_eq!(single.brief(), (500, told));
    for endpoint in ["/livez", "/healthz", "/readyz?exclude=store-writable"] {
        assert_eq!(
            client.get(endpoint).await.brief(),
            (200, "ok"),
            "{endpoint}"
        );
    }
    *outage.lock().unwrap() = None;
    assert_eq!(client.get("/readyz").await.brief(), (200, "ok"));
}
