//! The served resources, and waiting until a written configuration is in force.

use std::sync::Arc;
use std::time::Duration;

use lockstep_catalog::Configures;
use lockstep_storage::Revision;
use tokio::sync::watch;

use super::{Api, Origin, Registry, Resource};
use crate::cache::{BucketKey, Cache};
use lockstep_catalog::crd;

/// Longest wait of a write for the configuration that it changed to be in force here.
const FOLLOWING_MAX: Duration = Duration::from_secs(2);

impl Api {
    /// Watch cache behind this API.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Adds or replaces a resource in the registry.
    pub(crate) fn serve(&self, resource: Resource) {
        let resource = Arc::new(resource);
        self.registry.rcu(|registry| {
            let mut next = Registry::clone(registry);
            next.insert_shared(resource.clone());
            next
        });
    }

    /// Removes a custom resource from the registry.
    pub(crate) fn stop_serving(&self, group: &str, plural: &str) {
        self.registry.rcu(|registry| {
            let mut next = Registry::clone(registry);
            let known = next.resource(group, plural);
            if known.is_some_and(|resource| resource.origin == Origin::Custom) {
                next.remove(group, plural);
            }
            next
        });
    }

    /// Removes the custom resources whose CRD does not match the predicate.
    pub(crate) fn forget_custom_resources(&self, stays: impl Fn(&str) -> bool) {
        self.registry.rcu(|registry| {
            let mut next = Registry::clone(registry);
            next.retain(|resource| {
                let crd = || format!("{}.{}", resource.plural, resource.group);
                resource.origin != Origin::Custom || stays(&crd())
            });
            next
        });
    }

    /// Records that the registry reflects all CRDs up to a revision.
    pub(crate) fn crds_followed(&self, revision: Revision) {
        self.followed.send_if_modified(|followed| {
            let is_news = revision > *followed;
            *followed = revision.max(*followed);
            is_news
        });
    }

    /// Waits until a part of the server reflects all stored objects that configure it, for at most [`FOLLOWING_MAX`].
    ///
    /// Called after a write, which has succeeded already: if the store is unreachable now, the next write reports it.
    pub(crate) async fn in_force(&self, part: Configures) {
        if self.cache.caught_up().await.is_err() {
            return;
        }
        let followed = async {
            match part {
                Configures::Registry => self.seen_in_force().await,
                // Before the first load of the rules, a denied request waits for it anyway.
                Configures::Authorization if self.rules.is_settled() => {
                    self.rules.in_force(&self.cache).await;
                }
                // Admission and fairness read the watch cache themselves.
                Configures::Admission | Configures::FlowControl | Configures::Authorization => {}
            }
        };
        let _in_time = tokio::time::timeout(FOLLOWING_MAX, followed).await;
    }

    /// Waits without limit until the registry reflects all CRDs in the cache.
    pub(crate) async fn seen_in_force(&self) {
        let newest = self.cache.bucket(&BucketKey::new(crd::BUCKET));
        let newest = newest.snapshot().revision();
        let mut followed = self.followed.subscribe();
        let _while_served = followed.wait_for(|followed| *followed >= newest).await;
    }

    /// Subscribes to the revision up to which the registry reflects the CRDs.
    pub(crate) fn follow_crds(&self) -> watch::Receiver<Revision> {
        self.followed.subscribe()
    }

    /// Revision of an object in the watch cache.
    pub(crate) fn cached_revision(&self, group: &str, plural: &str, key: &str) -> Option<Revision> {
        let registry = self.registry();
        let resource = registry.resource(group, plural)?;
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        Some(snapshot.get(key.as_bytes())?.revision)
    }
}
