//! Leader election: the lease of the server that runs the controllers.

use std::sync::Arc;
use std::time::Duration;

use lockstep_controllers::Stored;
use lockstep_controllers::election::{
    Election, ElectionStep, LEASE_NAME, RENEW_DEADLINE_MS, RENEW_MS,
};
use lockstep_controllers::servers::NAMESPACE;
use lockstep_object::Object;
use lockstep_storage::{Expected, Revision};
use tokio::time::{Instant, timeout, timeout_at};

use super::identity::{GROUP, PLURAL, write};
use super::micros;
use crate::cache::{BucketKey, Scope};
use crate::resources::{Api, Internal};

const RENEW: Duration = Duration::from_millis(RENEW_MS);
const RENEW_DEADLINE: Duration = Duration::from_millis(RENEW_DEADLINE_MS);

/// Candidate for the leader lease.
pub(super) struct Leader {
    api: Arc<Api>,
    me: String,
    key: String,
}

impl Leader {
    pub(super) fn new(api: Arc<Api>, me: &str) -> Self {
        Self {
            api,
            me: me.to_owned(),
            key: format!("{NAMESPACE}/{LEASE_NAME}"),
        }
    }

    /// Returns when this server holds the lease. `decided` is called as soon as any server holds it.
    pub(super) async fn campaign(&self, decided: &(impl Fn() + Sync)) {
        let mut election = Election::new(self.me.clone());
        let started = Instant::now();
        let bucket = self.api.cache().bucket(&BucketKey::new("leases"));
        let scope = Scope::Object(self.key.as_str().into());
        loop {
            let (_, mut watching) = bucket.snapshot_and_watch(scope.clone());
            let stored = self.stored();
            let now = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let until = match election.campaign(stored.as_ref(), now, micros()) {
                ElectionStep::Write { revision, lease } => {
                    let expected =
                        revision.map_or(Expected::Absent, |at| Expected::At(Revision(at)));
                    if let Ok(Internal::Done(_)) = timeout(RENEW, self.write(expected, lease)).await
                    {
                        decided();
                        return;
                    }
                    Instant::now() + RENEW
                }
                ElectionStep::Wait { until } => {
                    decided();
                    started + Duration::from_millis(until)
                }
            };
            // Wakes when the lease changes or the next attempt is due.
            drop(timeout_at(until, watching.next()).await);
        }
    }

    /// Renews the lease, and returns when it is lost.
    pub(super) async fn hold(&self) {
        let election = Election::new(self.me.clone());
        let mut renewed = Instant::now();
        while renewed.elapsed() < RENEW_DEADLINE {
            tokio::time::sleep(RENEW).await;
            let deadline = renewed + RENEW_DEADLINE;
            let asked = Instant::now();
            let renewing = async {
                if self.api.cache().caught_up().await.is_err() {
                    return Internal::Failed;
                }
                let Some(stored) = self.stored().filter(|lease| election.is_held(Some(lease)))
                else {
                    return Internal::Moved;
                };
                let lease = election.renew(&stored, micros());
                self.write(Expected::At(Revision(stored.revision)), lease)
                    .await
            };
            match timeout_at(deadline, renewing).await {
                Ok(Internal::Done(_)) => renewed = asked,
                Ok(Internal::Moved) if !election.is_held(self.newest().await.as_ref()) => return,
                Ok(Internal::Moved | Internal::Refused | Internal::Failed) | Err(_) => {}
            }
        }
    }

    /// Releases the lease if this server holds it. A concurrent renewal is possible, so the release is retried.
    pub(super) async fn release(&self) {
        let election = Election::new(self.me.clone());
        while let Some(stored) = self.newest().await {
            if !election.is_held(Some(&stored)) {
                return;
            }
            let lease = election.release(&stored, micros());
            let expected = Expected::At(Revision(stored.revision));
            if let Internal::Done(_) = self.write(expected, lease).await {
                return;
            }
        }
    }

    /// Lease in the store.
    async fn newest(&self) -> Option<Stored> {
        let found = self.api.read_internally(GROUP, PLURAL, &self.key).await;
        found.map(|(object, Revision(revision))| Stored { object, revision })
    }

    /// Lease in the watch cache.
    fn stored(&self) -> Option<Stored> {
        let found = self.api.cached(GROUP, PLURAL, &self.key);
        found.map(|(object, Revision(revision))| Stored { object, revision })
    }

    async fn write(&self, expected: Expected, lease: Object) -> Internal {
        write(&self.api, &self.key, expected, lease).await
    }
}
