//! What the server itself does with objects: through the same write path as everybody.

use std::time::Duration;

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use lockstep_storage::{Expected, Outcome, Revision, Written};

use super::commit::put;
use super::current::{parse, to_stored};
use super::update::is_free;
use super::{Api, Origin, Registry, Resource, Served};
use crate::cache::{BucketKey, Cache, Scope};
use crate::crd;

/// Holds a CRD until its objects are gone.
pub(crate) const FINALIZER_CRD: &str = "customresourcecleanup.apiextensions.k8s.io";

/// How long a write of a CRD waits for it to be in force.
const FOLLOWING_MAX: Duration = Duration::from_secs(2);

impl Api {
    /// The memory behind this API.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Serves a resource from now on.
    pub(crate) fn serve(&self, resource: Resource) {
        let resource = std::sync::Arc::new(resource);
        self.registry.rcu(|registry| {
            let mut next = Registry::clone(registry);
            next.insert_shared(resource.clone());
            next
        });
    }

    /// Serves a custom resource no longer.
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

    /// Serves no custom resource.
    pub(crate) fn forget_custom_resources(&self) {
        self.registry.rcu(|registry| {
            let mut next = Registry::clone(registry);
            next.retain(|resource| resource.origin == Origin::BuiltIn);
            next
        });
    }

    /// All CRDs up to this revision are in force.
    pub(crate) fn crds_followed(&self, revision: Revision) {
        self.followed.send_if_modified(|followed| {
            let is_news = revision > *followed;
            *followed = revision.max(*followed);
            is_news
        });
    }

    /// Waits until all CRDs that are stored are in force here, for no longer than
    /// [`FOLLOWING_MAX`].
    pub(crate) async fn in_force(&self) {
        if self.cache.caught_up().await.is_err() {
            return;
        }
        let newest = self.cache.bucket(&BucketKey::new(crd::BUCKET));
        let newest = newest.snapshot().revision();
        let mut followed = self.followed.subscribe();
        let waiting = followed.wait_for(|followed| *followed >= newest);
        let _in_time = tokio::time::timeout(FOLLOWING_MAX, waiting).await;
    }

    /// An object as the cache holds it, and the revision that left it.
    pub(crate) fn cached(
        &self,
        group: &str,
        plural: &str,
        key: &str,
    ) -> Option<(Object, Revision)> {
        let registry = self.registry();
        let resource = registry.resource(group, plural)?;
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        let found = snapshot.get(key.as_bytes())?;
        let value: Value = serde_json::from_slice(&found.value).ok()?;
        Some((Object::from_value(value).ok()?, found.revision))
    }

    /// An object as it is stored, and the revision that left it.
    pub(crate) async fn read_internally(
        &self,
        group: &str,
        plural: &str,
        key: &str,
    ) -> Option<(Object, Revision)> {
        let registry = self.registry();
        let resource = registry.resource(group, plural)?;
        let found = self.newest(resource, key).await.ok()??;
        let value: Value = serde_json::from_slice(&found.value).ok()?;
        let object = Object::from_value(value).ok()?;
        Some((object, found.mod_revision))
    }

    /// Writes an object, or deletes it if there is none to write. Tells whether that happened.
    pub(crate) async fn store_internally(
        &self,
        group: &str,
        plural: &str,
        key: &str,
        expected: Expected,
        object: Option<Object>,
    ) -> bool {
        let registry = self.registry();
        let Some(resource) = registry.resource(group, plural) else {
            return false;
        };
        let served = Served {
            resource: resource.clone(),
            version: resource.storage,
        };
        let written = match object.map(|mut object| to_stored(&served, &mut object)) {
            None => Written::Delete,
            Some(Ok(value)) => put(value),
            Some(Err(_)) => return false,
        };
        let outcome = self.commit(resource, key, expected, written).await;
        matches!(outcome, Ok(Outcome::Done { .. }))
    }

    /// Deletes all objects of a resource that nobody holds, asks the holders of the others, and
    /// tells how many are left.
    pub(crate) async fn delete_all_internally(&self, served: &Served, now: Seconds) -> usize {
        let resource = &served.resource;
        if self.cache.caught_up().await.is_err() {
            return 1;
        }
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        let mut left = 0;
        for stored in snapshot.objects(&Scope::All, None) {
            let key = String::from_utf8_lossy(&stored.key).into_owned();
            let Ok(current) = parse(served, stored.value.clone(), stored.revision) else {
                left += 1;
                continue;
            };
            let mut object = current.object;
            let expected = Expected::At(stored.revision);
            if is_free(resource, &object) {
                let deleted = self.commit(resource, &key, expected, Written::Delete).await;
                left += usize::from(!matches!(deleted, Ok(Outcome::Done { .. })));
                continue;
            }
            left += 1;
            if object.deletion_timestamp().is_none() {
                super::delete::request_deletion(resource, &mut object, now);
                if let Ok(value) = to_stored(served, &mut object) {
                    let _asked = self.commit(resource, &key, expected, put(value)).await;
                }
            }
        }
        left
    }
}
