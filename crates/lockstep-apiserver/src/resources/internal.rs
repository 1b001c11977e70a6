//! What the server itself does with objects: through the same write path as everybody.

use std::time::Duration;

use bytes::Bytes;
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Status, Value};
use lockstep_storage::{Expected, Fence, Key, Outcome, Revision, Written};
use tokio::sync::watch;

use super::commit::put;
use super::convert::{kept_in, own_version};
use super::current::{encode, parse};
use super::own_claims::claim_made;
use super::update::is_free;
use super::{Api, Origin, Registry, Resource, Served, Subresource};
use crate::cache::{BucketKey, Cache, Scope};
use crate::crd;
use crate::route::Verb;

pub(crate) use lockstep_catalog::crd::CLEANUP_FINALIZER as CRD_CLEANUP_FINALIZER;

/// How long a write of a CRD waits for it to be in force.
const FOLLOWING_MAX: Duration = Duration::from_secs(2);

/// What became of a write of the server itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Internal {
    /// It happened at this revision.
    Done(Revision),
    /// The object was not as expected, or is served no longer.
    Moved,
    /// The store did not do it, or did not say.
    Failed,
}

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

    /// Serves no custom resources but those of CRDs that stay.
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
        let _in_time = tokio::time::timeout(FOLLOWING_MAX, self.seen_in_force()).await;
    }

    /// Waits until all CRDs that the cache shows are in force here, however long that takes.
    pub(crate) async fn seen_in_force(&self) {
        let newest = self.cache.bucket(&BucketKey::new(crd::BUCKET));
        let newest = newest.snapshot().revision();
        let mut followed = self.followed.subscribe();
        let _while_served = followed.wait_for(|followed| *followed >= newest).await;
    }

    /// Other versions of a resource, and of others that are kept in the same place, in which a part
    /// of an object can be written too.
    pub(crate) fn equivalents(
        &self,
        served: &Served,
        subresource: Option<Subresource>,
    ) -> Vec<Served> {
        let registry = self.registry();
        let own = &served.resource;
        let is_kept = !own.bucket.name().is_empty();
        let beside = registry.iter().filter(|other| {
            let is_own = other.group == own.group && other.plural == own.plural;
            is_own || is_kept && other.bucket == own.bucket
        });
        let versions = beside.flat_map(|resource| {
            let versions = resource.versions.iter().enumerate();
            let able = versions.filter(move |(_, version)| {
                version.is_served
                    && subresource.is_none_or(|subresource| version.parts().contains(&subresource))
            });
            able.map(|(version, _)| Served {
                resource: std::sync::Arc::clone(resource),
                version,
            })
        });
        let others = versions.filter(|other| other.gvk() != served.gvk());
        others.collect()
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

    /// The revision that left an object, as the cache holds it.
    pub(crate) fn cached_revision(&self, group: &str, plural: &str, key: &str) -> Option<Revision> {
        let registry = self.registry();
        let resource = registry.resource(group, plural)?;
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        Some(snapshot.get(key.as_bytes())?.revision)
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
        let written = self
            .write_internally(group, plural, key, expected, object)
            .await;
        matches!(written, Internal::Done(_))
    }

    /// The same, told in detail.
    pub(crate) async fn write_internally(
        &self,
        group: &str,
        plural: &str,
        key: &str,
        expected: Expected,
        object: Option<Object>,
    ) -> Internal {
        self.write_behind(&[], (group, plural, key), expected, object)
            .await
    }

    async fn write_behind(
        &self,
        fences: &[Fence],
        (group, plural, key): (&str, &str, &str),
        expected: Expected,
        object: Option<Object>,
    ) -> Internal {
        let registry = self.registry();
        let Some(resource) = registry.resource(group, plural) else {
            return Internal::Moved;
        };
        let verb = match (expected, &object) {
            (Expected::Absent, Some(_)) => Verb::Create,
            (_, Some(_)) => Verb::Update,
            (_, None) => Verb::Delete,
        };
        let object = object.map(|mut object| {
            if verb == Verb::Create {
                claim_made(resource, &mut object);
            }
            object
        });
        let written = match object.map(|object| keep(resource, object)) {
            None => Written::Delete,
            Some(Ok(value)) => put(value),
            Some(Err(_)) => return Internal::Failed,
        };
        let outcome = self.commit_behind(fences, resource, key, expected, written);
        let outcome = outcome.await;
        self.wrote(resource, key, verb, code(verb, &outcome));
        match outcome {
            Ok(Outcome::Done { revision }) => Internal::Done(revision),
            Ok(Outcome::Stopped { .. }) => Internal::Moved,
            Err(_) => Internal::Failed,
        }
    }

    /// Makes an object of the server itself. One in a namespace is made only if the namespace is as
    /// the cache shows it, and stays.
    pub(crate) async fn create_internally(
        &self,
        (group, plural, key): (&str, &str, &str),
        mut object: Object,
        now: Seconds,
    ) -> Internal {
        object.set_meta_text("uid", &self.new_uid());
        object.set_meta_text("creationTimestamp", &now.to_string());
        let mut fences = Vec::new();
        if !object.namespace().is_empty() {
            let Some(fence) = self.open_namespace(object.namespace()) else {
                return Internal::Moved;
            };
            fences.push(fence);
        }
        let expected = Expected::Absent;
        self.write_behind(&fences, (group, plural, key), expected, Some(object))
            .await
    }

    /// A namespace that stays, fenced off as the cache shows it.
    fn open_namespace(&self, name: &str) -> Option<Fence> {
        let registry = self.registry();
        let resource = registry.resource("", "namespaces")?;
        let (namespace, at) = self.cached("", "namespaces", name)?;
        let key = Key::new(resource.store_key(&self.prefix, name)).ok()?;
        let stays = namespace.deletion_timestamp().is_none();
        stays.then_some(Fence { key, at })
    }

    /// Whether nothing holds an object of a resource back from being removed.
    pub(crate) fn is_free(&self, group: &str, plural: &str, object: &Object) -> bool {
        let registry = self.registry();
        let resource = registry.resource(group, plural);
        resource.is_some_and(|resource| is_free(resource, object))
    }

    /// Follows which CRDs are in force.
    pub(crate) fn follow_crds(&self) -> watch::Receiver<Revision> {
        self.followed.subscribe()
    }

    /// Deletes all objects of a resource that nobody holds, asks the holders of the others, and
    /// tells what is left.
    pub(crate) async fn delete_all_internally(&self, served: &Served, now: Seconds) -> Left {
        let resource = &served.resource;
        if let Err(error) = self.cache.caught_up().await {
            return Left::Failed(error.to_string());
        }
        let snapshot = self.cache.bucket(&resource.bucket).snapshot();
        let (mut left, mut failed) = (Left::Nothing, None);
        for stored in snapshot.objects(&Scope::All, None) {
            let key = String::from_utf8_lossy(&stored.key).into_owned();
            let kept = kept_in(resource, &stored.value);
            let Ok(mut object) = parse(&kept, &stored.value, stored.revision) else {
                failed = Some(format!("{key}: the stored bytes are no object"));
                continue;
            };
            let expected = Expected::At(stored.revision);
            if is_free(resource, &object) {
                let deleted = self.commit(resource, &key, expected, Written::Delete).await;
                self.wrote(resource, &key, Verb::Delete, code(Verb::Delete, &deleted));
                match deleted {
                    Ok(Outcome::Done { .. }) => {}
                    Ok(Outcome::Stopped { .. }) => left = Left::Some,
                    Err(status) => failed = Some(status.message),
                }
                continue;
            }
            left = Left::Some;
            if object.deletion_timestamp().is_none() {
                super::delete::request_deletion(resource, &mut object, now);
                if let Ok(value) = encode(resource, kept.version, &mut object) {
                    let asked = self.commit(resource, &key, expected, put(value)).await;
                    self.wrote(resource, &key, Verb::Delete, code(Verb::Delete, &asked));
                }
            }
        }
        failed.map_or(left, Left::Failed)
    }
}

/// What is left of objects that were all to be deleted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// Nothing.
    Nothing,
    /// Some that others hold, or that changed meanwhile.
    Some,
    /// Some that could not be deleted, for this reason among others.
    Failed(String),
}

/// What a client would have been answered.
fn code(verb: Verb, outcome: &Result<Outcome, Status>) -> u16 {
    match outcome {
        Ok(Outcome::Done { .. }) if verb == Verb::Create => 201,
        Ok(Outcome::Done { .. }) => 200,
        Ok(Outcome::Stopped { .. }) => 409,
        Err(status) => status.code,
    }
}

/// The bytes to store of an object that was read as it is stored, in the shape of the version that
/// it is stored in from now on. Nobody is asked to convert it.
pub(super) fn keep(resource: &Resource, mut object: Object) -> Result<Bytes, Status> {
    let version = own_version(resource, object.api_version());
    if resource.origin == Origin::Custom {
        resource
            .strategy
            .prune_and_default(version, &mut object, None);
    }
    encode(resource, version, &mut object)
}
