//! Writes by built-in controllers and by the server itself, through the common write path.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{Expected, Fence, GuardedOp, GuardedOutcome, Key, Revision};
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Object};

use super::codec::{encode, parse};
use super::commit::put;
use super::conversion::{rewrite_version_of, served_for_rewrite};
use super::environment::Observation;
use super::field_gates::apply as apply_gates;
use super::origin::WriteOrigin;
use super::quota::Bill;
use super::server_ownership::set_managed_fields_of_server_object;
use super::update::is_free;
use super::{Origin, Resource, Served, Subresource, WritePath};
use lockstep_catalog::Verb;

pub use lockstep_catalog::crd::CLEANUP_FINALIZER as CRD_CLEANUP_FINALIZER;

/// Result of an internal write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Internal {
    /// Committed at this revision.
    Done(Revision),
    /// The object is not at the expected revision, or its resource is no longer served.
    Moved,
    /// A quota is exceeded.
    Refused,
    /// The store rejected the write, or its outcome is unknown.
    Failed,
}

impl WritePath<'_> {
    /// Other served versions of a resource, and of resources with the same bucket, that support the subresource.
    pub fn equivalents(&self, served: &Served, subresource: Option<Subresource>) -> Vec<Served> {
        let registry = self.registry();
        let own = &served.resource;
        let is_kept = !own.bucket.name().is_empty();
        let beside = registry.iter().filter(|other| {
            let is_own = other.group == own.group && other.plural == own.plural;
            is_own || is_kept && other.bucket == own.bucket
        });
        let versions = beside.flat_map(|resource| {
            let versions = resource.versions.indexed();
            let able = versions.filter(move |(_, version)| {
                version.is_served
                    && subresource.is_none_or(|subresource| version.parts().contains(&subresource))
            });
            able.map(|(version, _)| Served {
                resource: Arc::clone(resource),
                version,
            })
        });
        let others = versions.filter(|other| other.gvk() != served.gvk());
        others.collect()
    }

    /// Object in the watch cache, and its revision.
    pub fn cached(&self, group: &str, plural: &str, key: &str) -> Option<(Object, Revision)> {
        let registry = self.registry();
        let resource = registry.resource(group, plural)?;
        let found = self.env.cached_bytes(&resource.bucket, key.as_bytes())?;
        Some((found.object()?, found.revision))
    }

    /// Stored object, and its revision.
    pub async fn read_internally(
        &self,
        group: &str,
        plural: &str,
        key: &str,
    ) -> Option<(Object, Revision)> {
        let registry = self.registry();
        let resource = registry.resource(group, plural)?;
        let found = self.newest(resource, key).await.ok()??;
        let object = Object::read(&found.value)?;
        Some((object, found.mod_revision))
    }

    /// Writes an object without admission, or deletes it if `object` is `None`.
    pub async fn write_internally(
        &self,
        origin: WriteOrigin,
        group: &str,
        plural: &str,
        key: &str,
        expected: Expected,
        object: Option<Object>,
    ) -> Internal {
        self.write_behind(origin, &[], (group, plural, key), expected, object)
            .await
    }

    async fn write_behind(
        &self,
        origin: WriteOrigin,
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
        let place = (resource, key);
        let outcome = self
            .pass_stages(origin, fences, place, expected, object)
            .await;
        self.observe_own_write(resource, key, verb, &outcome);
        match outcome {
            Ok(GuardedOutcome::Committed { revision }) => Internal::Done(revision),
            Ok(GuardedOutcome::ConditionFailed { .. }) => Internal::Moved,
            Err(error) if error.is_forbidden() => Internal::Refused,
            Err(_) => Internal::Failed,
        }
    }

    /// Runs the stages that apply to an origin, then commits.
    async fn pass_stages(
        &self,
        origin: WriteOrigin,
        fences: &[Fence],
        (resource, key): (&Arc<Resource>, &str),
        expected: Expected,
        object: Option<Object>,
    ) -> Result<GuardedOutcome, ApiError> {
        let Some(mut object) = object else {
            return self
                .commit_behind(fences, resource, key, expected, GuardedOp::Delete)
                .await;
        };
        let stages = origin.stages();
        if expected == Expected::Absent {
            set_managed_fields_of_server_object(origin, resource, &mut object);
        }
        if stages.field_gates {
            self.keep_gated_fields(resource, key, expected, &mut object)
                .await?;
        }
        let bill = match origin {
            WriteOrigin::Controller { now } if stages.quota && expected == Expected::Absent => {
                Bill::of_creation(self, resource, &object, now)
            }
            _ => None,
        };
        let written = put(keep(resource, object)?);
        self.commit_billed(bill.as_ref(), fences, (resource, key), expected, written)
            .await
    }

    /// Restores the stored values of fields with disabled gates.
    async fn keep_gated_fields(
        &self,
        resource: &Arc<Resource>,
        key: &str,
        expected: Expected,
        object: &mut Object,
    ) -> Result<(), ApiError> {
        let Some(gates) = resource.strategy.gates() else {
            return Ok(());
        };
        let version = rewrite_version_of(resource, object.api_version());
        if version != resource.encoding_version().index() && resource.strategy.converter().is_some()
        {
            // Gate paths refer to the encoding version; a conversion webhook may rename fields in other versions.
            return Ok(());
        }
        let stored = match expected {
            Expected::Absent => None,
            Expected::At(_) => self.newest(resource, key).await?,
        };
        let served = Served {
            resource: Arc::clone(resource),
            version,
        };
        let old = stored.map(|stored| parse(&served, &stored.value, stored.mod_revision));
        apply_gates(gates, object, old.transpose()?.as_ref());
        Ok(())
    }

    fn observe_own_write(
        &self,
        resource: &Resource,
        key: &str,
        verb: Verb,
        outcome: &Result<GuardedOutcome, ApiError>,
    ) {
        self.env.observe(&Observation::OwnWrite {
            resource,
            key,
            verb,
            code: code(verb, outcome),
        });
    }

    /// Creates an object on behalf of the server. For a namespaced object, the transaction requires the cached
    /// namespace to be current and not terminating.
    pub async fn create_internally(
        &self,
        origin: WriteOrigin,
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
        self.write_behind(
            origin,
            &fences,
            (group, plural, key),
            expected,
            Some(object),
        )
        .await
    }

    /// Fence on a cached namespace; `None` if it does not exist or is terminating.
    fn open_namespace(&self, name: &str) -> Option<Fence> {
        let registry = self.registry();
        let resource = registry.resource("", "namespaces")?;
        let (namespace, at) = self.cached("", "namespaces", name)?;
        let key = Key::new(resource.store_key(self.env.prefix(), name)).ok()?;
        let stays = namespace.deletion_timestamp().is_none();
        stays.then_some(Fence { key, at })
    }

    /// True if an object of a resource has no finalizers left.
    pub fn is_free(&self, group: &str, plural: &str, object: &Object) -> bool {
        let registry = self.registry();
        let resource = registry.resource(group, plural);
        resource.is_some_and(|resource| is_free(resource, object))
    }

    /// Deletes all objects of a resource: removes those without finalizers, sets `deletionTimestamp` on the others,
    /// and reports whether any remain.
    pub async fn delete_all_internally(&self, served: &Served, now: Seconds) -> Left {
        let resource = &served.resource;
        if !self.io.catch_up().await {
            return Left::Failed("the store is not available".to_owned());
        }
        let (mut left, mut failed) = (Left::Nothing, None);
        for stored in self.env.cached_list(&resource.bucket, None) {
            let key = String::from_utf8_lossy(&stored.key).into_owned();
            let rewritten = served_for_rewrite(resource, &stored.value);
            let Ok(mut object) = parse(&rewritten, &stored.value, stored.revision) else {
                failed = Some(format!("{key}: the stored bytes are no object"));
                continue;
            };
            let expected = Expected::At(stored.revision);
            if is_free(resource, &object) {
                let deleted = self
                    .commit(resource, &key, expected, GuardedOp::Delete)
                    .await;
                self.observe_own_write(resource, &key, Verb::Delete, &deleted);
                match deleted {
                    Ok(GuardedOutcome::Committed { .. }) => {}
                    Ok(GuardedOutcome::ConditionFailed { .. }) => left = Left::Some,
                    Err(error) => failed = Some(error.to_string()),
                }
                continue;
            }
            left = Left::Some;
            if object.deletion_timestamp().is_none() {
                super::delete::request_deletion(resource, &mut object, now);
                if let Ok(value) = encode(resource, rewritten.version, &mut object) {
                    let outcome = self.commit(resource, &key, expected, put(value)).await;
                    self.observe_own_write(resource, &key, Verb::Delete, &outcome);
                }
            }
        }
        failed.map_or(left, Left::Failed)
    }
}

/// Result of deleting all objects of a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Left {
    /// All objects are deleted.
    Nothing,
    /// Objects with finalizers, or with concurrent changes, remain.
    Some,
    /// At least one deletion failed; holds one of the reasons.
    Failed(String),
}

/// Status code that the write would have had as an API request.
fn code(verb: Verb, outcome: &Result<GuardedOutcome, ApiError>) -> u16 {
    match outcome {
        Ok(GuardedOutcome::Committed { .. }) if verb == Verb::Create => 201,
        Ok(GuardedOutcome::Committed { .. }) => 200,
        Ok(GuardedOutcome::ConditionFailed { .. }) => 409,
        Err(error) => error.code(),
    }
}

/// Encodes an object in the version it was stored in, pruned and defaulted. Never calls a conversion webhook.
pub(super) fn keep(resource: &Resource, mut object: Object) -> Result<Bytes, ApiError> {
    let version = rewrite_version_of(resource, object.api_version());
    if resource.origin == Origin::Custom {
        resource
            .strategy
            .prune_and_default(version, &mut object, None);
    }
    encode(resource, version, &mut object)
}
