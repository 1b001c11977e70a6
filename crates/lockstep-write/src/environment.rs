//! Synchronous inputs of a write: served resources, settings, and caches that follow the store.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_admission::features::Features;
use lockstep_admission::outcome::{Check, Conflict};
use lockstep_admission::set::PolicySet;
use lockstep_authz::Policies;
use lockstep_builtins::services::ServiceRange;
use lockstep_fieldgate::{Action, Gates};
use lockstep_mvcc::Revision;
use lockstep_object::{GroupResource, Object};

use super::admission::{Hook, Phase, Plugins};
use lockstep_authz::{Attributes, Decision};
use lockstep_catalog::crd::FieldGates;
use lockstep_catalog::{Registry, Resource};
use lockstep_mvcc::BucketKey;

/// Environment of a write. All methods are synchronous; a test implements them with a few maps.
pub trait Environment: Send + Sync {
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
    fn authorizer(&self) -> lockstep_authz::Authorizer;

    /// Admission webhooks in force, in the order they are called.
    fn webhooks(&self, phase: Phase) -> Arc<[Arc<Hook>]>;

    /// Admission policies in force.
    fn admission_policies(&self) -> Arc<PolicySet>;

    /// Parts of the API of policies that are on.
    fn policy_features(&self) -> Features;

    /// Records an observation for metrics and logs.
    fn observe(&self, observation: &Observation<'_>);
}

/// Stored bytes as the watch cache shows them.
pub struct CachedBytes {
    /// Key below the bucket.
    pub key: Bytes,
    /// Encoded object.
    pub value: Bytes,
    /// Revision that wrote it.
    pub revision: Revision,
}

/// Fact for metrics and logs.
pub enum Observation<'a> {
    /// A whole phase of admission.
    Admission {
        /// `admit` or `validating`.
        phase: &'static str,
        /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        operation: &'static str,
        /// True if it rejected the write.
        is_rejected: bool,
        /// Duration.
        took: Duration,
    },
    /// One admission plugin in one phase.
    Plugin {
        /// Name of the plugin.
        name: &'static str,
        /// `admit` or `validating`.
        phase: &'static str,
        /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        operation: &'static str,
        /// True if it rejected the write.
        is_rejected: bool,
        /// Duration.
        took: Duration,
    },
    /// One webhook call.
    Webhook {
        /// Name of the webhook.
        name: &'a str,
        /// `admit` or `validating`.
        phase: &'static str,
        /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        operation: &'static str,
        /// HTTP status code.
        code: u16,
        /// True if it rejected the write.
        is_rejected: bool,
        /// Duration.
        took: Duration,
    },
    /// A webhook whose answer or failure rejected the write.
    WebhookRejection {
        /// Name of the webhook.
        name: &'a str,
        /// `admit` or `validating`.
        phase: &'static str,
        /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        operation: &'static str,
        /// Upstream's name of the error type.
        error: &'static str,
        /// HTTP status code.
        code: u16,
    },
    /// A failed webhook that was ignored.
    FailedOpen {
        /// Name of the webhook.
        name: &'a str,
        /// `admit` or `validating`.
        phase: &'static str,
        /// Error text of the call, for the log.
        failure: &'a str,
    },
    /// Evaluation of `matchConditions`.
    MatchConditions {
        /// Name of the webhook.
        name: &'a str,
        /// `admit` or `validating`.
        phase: &'static str,
        /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        operation: &'static str,
        /// Number of conditions that failed to evaluate.
        errors: u64,
        /// Duration.
        took: Duration,
    },
    /// A webhook left out because of its `matchConditions`.
    Excluded {
        /// Name of the webhook.
        name: &'a str,
        /// `admit` or `validating`.
        phase: &'static str,
        /// `CREATE`, `UPDATE`, `DELETE` or `CONNECT`.
        operation: &'static str,
    },
    /// One check by an admission policy.
    PolicyCheck {
        /// `admit` or `validating`.
        phase: &'static str,
        /// The check.
        check: &'a Check,
        /// Duration.
        took: Duration,
    },
    /// Mutating policies that undo the changes of others.
    PolicyConflicts {
        /// The conflicts.
        conflicts: &'a [Conflict],
        /// Resource of the request.
        resource: &'a GroupResource,
        /// True if nothing is stored.
        is_dry_run: bool,
    },
    /// The next state of the object behind the last step that changes it.
    BeforeValidation(&'a Object),
    /// The field gate step of one write.
    FieldGates {
        /// Name of the CRD.
        crd: &'a str,
        /// Name of the object.
        name: &'a str,
        /// Duration.
        took: Duration,
        /// Gates of the CRD.
        gates: &'a Gates,
        /// Changes that they made.
        actions: &'a [Action],
    },
    /// A write by the server itself, with the status code that it would have had as an API request.
    OwnWrite {
        /// The resource.
        resource: &'a Resource,
        /// Key of the object below the resource.
        key: &'a str,
        /// The verb.
        verb: lockstep_catalog::Verb,
        /// HTTP status code.
        code: u16,
    },
}

impl CachedBytes {
    /// Parses the object; `None` if the bytes are invalid.
    pub fn object(&self) -> Option<Object> {
        Object::read(&self.value)
    }
}
