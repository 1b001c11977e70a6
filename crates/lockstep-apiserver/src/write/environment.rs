//! Synchronous inputs of a write: served resources, settings, and caches that follow the store.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_authz::Policies;
use lockstep_builtins::services::ServiceRange;
use lockstep_object::{Object, Value};
use lockstep_storage::Revision;

use super::admission::{Hook, Phase, Plugins};
use crate::authz::{Attributes, Decision};
use crate::cache::BucketKey;
use crate::crd::FieldGates;
use crate::resources::{Registry, Resource};

/// Environment of a write. All methods are synchronous; a test implements them with a few maps.
pub(crate) trait Environment: Send + Sync {
    /// Resources served at this moment.
    fn registry(&self) -> Arc<Registry>;

    /// Key prefix of everything this server stores.
    fn prefix(&self) -> &[u8];

    /// Enabled admission plugins.
    fn plugins(&self) -> &Plugins;

    /// Addresses and node ports for Services.
    fn service_range(&self) -> ServiceRange;

    /// State of the feature gate `CRDFieldLevelVersioning`.
    fn field_gates(&self) -> FieldGates;

    /// Injected randomness for UIDs and generated names.
    fn random_u128(&self) -> u128;

    /// Injected monotonic time since an arbitrary start, for metrics alone.
    fn elapsed(&self) -> Duration;

    /// One object of the watch cache, which may lag behind the store.
    fn cached_bytes(&self, bucket: &BucketKey, key: &[u8]) -> Option<CachedBytes>;

    /// Objects of the watch cache in one namespace, or all of them, by key.
    fn cached_list(&self, bucket: &BucketKey, namespace: Option<&str>) -> Vec<CachedBytes>;

    /// Roles and bindings in force, for the escalation check.
    fn policies(&self) -> Arc<Policies>;

    /// Authorizer of the server.
    fn authorize(&self, attributes: &Attributes<'_>) -> Decision;

    /// Authorizer as a shared function, for CEL expressions.
    fn authorizer(&self) -> crate::authz::Authorizer;

    /// Admission webhooks in force, in the order they are called.
    fn webhooks(&self, phase: Phase) -> Arc<[Arc<Hook>]>;

    /// Records an observation for metrics.
    fn observe(&self, observation: &Observation<'_>);
}

/// Stored bytes as the watch cache shows them.
pub(crate) struct CachedBytes {
    /// Key below the bucket.
    pub(crate) key: Bytes,
    /// Encoded object.
    pub(crate) value: Bytes,
    /// Revision that wrote it.
    pub(crate) revision: Revision,
}

/// Fact for metrics.
pub(crate) enum Observation<'a> {
    /// A whole phase of admission.
    Admission {
        phase: &'static str,
        operation: &'static str,
        is_rejected: bool,
        took: Duration,
    },
    /// One admission plugin in one phase.
    Plugin {
        name: &'static str,
        phase: &'static str,
        operation: &'static str,
        is_rejected: bool,
        took: Duration,
    },
    /// One webhook call.
    Webhook {
        name: &'a str,
        phase: &'static str,
        operation: &'static str,
        code: u16,
        is_rejected: bool,
        took: Duration,
    },
    /// A webhook whose answer or failure rejected the write.
    WebhookRejection {
        name: &'a str,
        phase: &'static str,
        operation: &'static str,
        error: &'static str,
        code: u16,
    },
    /// A failed webhook that was ignored.
    FailedOpen { name: &'a str, phase: &'static str },
    /// Evaluation of `matchConditions`.
    MatchConditions {
        name: &'a str,
        phase: &'static str,
        operation: &'static str,
        errors: u64,
        took: Duration,
    },
    /// A webhook left out because of its `matchConditions`.
    Excluded {
        name: &'a str,
        phase: &'static str,
        operation: &'static str,
    },
    /// The field gate step of one write, with gate and action of each change it made.
    FieldGates {
        crd: &'a str,
        took: Duration,
        actions: &'a [(&'a str, &'static str)],
    },
    /// A write by the server itself, with the status code that it would have had as an API request.
    OwnWrite {
        resource: &'a Resource,
        key: &'a str,
        verb: crate::route::Verb,
        code: u16,
    },
}

impl CachedBytes {
    /// Parses the object; `None` if the bytes are invalid.
    pub(crate) fn object(&self) -> Option<Object> {
        let value: Value = serde_json::from_slice(&self.value).ok()?;
        Object::from_value(value).ok()
    }
}
