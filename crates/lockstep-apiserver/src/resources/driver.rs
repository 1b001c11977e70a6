//! Driver of the write path: performs the I/O that each step requests.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use lockstep_admission::features::Features;
use lockstep_admission::set::PolicySet;
use lockstep_authz::Policies;
use lockstep_builtins::services::ServiceRange;
use lockstep_storage::{
    Consistency, Expected, GuardedOp, GuardedOutcome, GuardedWrite, Key, KeyRange, KeyValue,
    LeaseId, Limits, Range, ReadFailure, Revision, WriteError, WriteFailure,
};
use tokio::sync::{Mutex, MutexGuard};

use super::{Api, OwnWrite, Registry, Resource};
use crate::authz::{Attributes, Authorizer, Decision};
use crate::cache::{BucketKey, Object as Cached, Scope};
use crate::clock;
use lockstep_catalog::crd::FieldGates;
use lockstep_write::admission::{Hook, Phase, Plugins};
use lockstep_write::{
    CachedBytes, Convert, Direct, Environment, Machine, Need, Observation, Reply, Step,
};

/// Number of slots for namespaces whose quotas are charged at the same time.
const QUOTA_SLOTS: usize = 64;

/// Per-namespace locks around quota charges by writers of this server. Each holds the revision that the next writer has
/// to read at.
///
/// A lock is held only during I/O with the store.
pub(super) struct QuotaTurns([Mutex<Revision>; QUOTA_SLOTS]);

impl Default for QuotaTurns {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Mutex::default()))
    }
}

impl QuotaTurns {
    async fn take(&self, namespace: &str) -> MutexGuard<'_, Revision> {
        let mut hasher = DefaultHasher::new();
        namespace.hash(&mut hasher);
        let slots = u64::try_from(QUOTA_SLOTS).unwrap_or(1);
        let slot = usize::try_from(hasher.finish() % slots).unwrap_or(0);
        self.0[slot].lock().await
    }
}

impl Api {
    /// Runs a write to its end. Dropping the future abandons the write between two steps.
    pub(crate) async fn drive<T>(&self, mut write: Machine<'_, T>) -> T {
        let mut turn = None;
        let mut reply = None;
        loop {
            match write.step(reply.take()) {
                Step::Done(done) => return done,
                Step::Needs(need) => reply = Some(self.fulfil(need, &mut turn).await),
            }
        }
    }

    async fn fulfil<'t>(
        &'t self,
        need: Need,
        turn: &mut Option<MutexGuard<'t, Revision>>,
    ) -> Reply {
        match need {
            Need::Read(resource, key) => Reply::Read(self.read(&resource, &key).await),
            Need::Convert {
                resource,
                objects,
                desired,
            } => Reply::Converted(Direct.convert(&resource, objects, &desired).await),
            Need::CallWebhooks(calls) => Reply::Called(self.call_webhooks(calls).await),
            Need::Commit(resource, write) => Reply::Committed(self.commit(&resource, write).await),
            Need::CatchUp => Reply::CaughtUp(self.cache.caught_up().await.is_ok()),
            Need::CatchUpTo(revision) => {
                Reply::CaughtUp(self.cache.at_least(revision).await.is_ok())
            }
            Need::TakeQuotaTurn(namespace) => {
                let taken = self.turns.take(&namespace).await;
                let left = *taken;
                *turn = Some(taken);
                Reply::QuotaTurn(left)
            }
            Need::EndQuotaTurn(left) => {
                if let (Some(mut turn), Some(left)) = (turn.take(), left) {
                    *turn = left;
                }
                Reply::Done
            }
            Need::Pause(pause) => {
                tokio::time::sleep(pause).await;
                Reply::Done
            }
        }
    }

    /// Linearizable read of one object.
    pub(super) async fn read(
        &self,
        resource: &Resource,
        key: &str,
    ) -> Result<Option<Arc<KeyValue>>, ReadFailure> {
        let key = Key::new(resource.store_key(&self.prefix, key))
            .expect("a key of the store has the server's prefix");
        let range = Range::new(KeyRange::single(key));
        let began = clock::now().steady;
        let found = self.store.range(range, Consistency::Linearizable).await;
        let took = clock::now().steady - began;
        self.meters.store("get", resource, took);
        Ok(found?.kvs.into_iter().next())
    }

    async fn commit(
        &self,
        resource: &Resource,
        write: GuardedWrite,
    ) -> Result<GuardedOutcome, WriteFailure> {
        if !resource.strategy.expires() {
            return self.try_commit(resource, write).await;
        }
        let outcome = self.commit_on_lease(resource, write.clone()).await;
        if let Err(WriteFailure::Refused(WriteError::LeaseNotFound)) = outcome {
            // The shared lease expired meanwhile; a new one is granted for the second try.
            self.expiry.forget();
            return self.commit_on_lease(resource, write).await;
        }
        outcome
    }

    async fn commit_on_lease(
        &self,
        resource: &Resource,
        mut write: GuardedWrite,
    ) -> Result<GuardedOutcome, WriteFailure> {
        if let GuardedOp::Put { lease, .. } = &mut write.op {
            *lease = self.lease().await?;
        }
        self.try_commit(resource, write).await
    }

    async fn lease(&self) -> Result<LeaseId, WriteFailure> {
        self.expiry.lease(&*self.store).await
    }

    async fn try_commit(
        &self,
        resource: &Resource,
        write: GuardedWrite,
    ) -> Result<GuardedOutcome, WriteFailure> {
        let operation = match (&write.op, write.expected) {
            (GuardedOp::Delete, _) => "delete",
            (GuardedOp::Put { .. }, Expected::Absent) => "create",
            (GuardedOp::Put { .. }, _) => "update",
        };
        let txn = write.txn(Limits::default().txn_ops_max)?;
        let began = clock::now().steady;
        let answer = self.store.txn(txn).await;
        let took = clock::now().steady - began;
        self.meters.store(operation, resource, took);
        Ok(GuardedOutcome::of(answer?))
    }
}

fn cached(object: &Cached) -> CachedBytes {
    CachedBytes {
        key: object.key.clone(),
        value: object.value.clone(),
        revision: object.revision,
    }
}

impl Environment for Api {
    fn registry(&self) -> Arc<Registry> {
        self.registry.load_full()
    }

    fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    fn service_range(&self) -> ServiceRange {
        self.service_range
    }

    fn field_gates(&self) -> FieldGates {
        self.field_gates
    }

    fn random_u128(&self) -> u128 {
        (self.random_u128)()
    }

    fn elapsed(&self) -> Duration {
        clock::now().steady - self.started
    }

    fn cached_bytes(&self, bucket: &BucketKey, key: &[u8]) -> Option<CachedBytes> {
        let snapshot = self.cache.bucket(bucket).snapshot();
        snapshot.get(key).map(|object| cached(object))
    }

    fn cached_list(&self, bucket: &BucketKey, namespace: Option<&str>) -> Vec<CachedBytes> {
        let scope = namespace.map_or(Scope::All, |name| Scope::Namespace(name.into()));
        let snapshot = self.cache.bucket(bucket).snapshot();
        let objects = snapshot.objects(&scope, None);
        objects.map(|object| cached(object)).collect()
    }

    fn policies(&self) -> Arc<Policies> {
        self.rules.policies()
    }

    fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        (self.authorizer)(attributes)
    }

    fn authorizer(&self) -> Authorizer {
        self.authorizer.clone()
    }

    fn webhooks(&self, phase: Phase) -> Arc<[Arc<Hook>]> {
        match phase {
            Phase::Mutating => self.mutating_webhooks.items(&self.cache),
            Phase::Validating => self.validating_webhooks.items(&self.cache),
        }
    }

    fn admission_policies(&self) -> Arc<PolicySet> {
        self.policies.set(&self.cache)
    }

    fn policy_features(&self) -> Features {
        self.policies.features().clone()
    }

    fn observe(&self, observation: &Observation<'_>) {
        let meters = &self.meters.admission;
        match *observation {
            Observation::Admission {
                phase,
                operation,
                is_rejected,
                took,
            } => meters.step(phase, operation, is_rejected, took),
            Observation::Plugin {
                name,
                phase,
                operation,
                is_rejected,
                took,
            } => meters.plugin(name, phase, operation, is_rejected, took),
            Observation::Webhook {
                name,
                phase,
                operation,
                code,
                is_rejected,
                took,
            } => meters.webhook(name, phase, operation, code, is_rejected, took),
            Observation::WebhookRejection {
                name,
                phase,
                operation,
                error,
                code,
            } => meters.rejected(name, phase, operation, error, code),
            Observation::FailedOpen {
                name,
                phase,
                failure,
            } => {
                tracing::warn!(webhook = name, %failure, "a webhook failed, which is ignored");
                meters.failed_open(name, phase);
            }
            Observation::MatchConditions {
                name,
                phase,
                operation,
                errors,
                took,
            } => meters.conditions(name, phase, operation, errors, took),
            Observation::Excluded {
                name,
                phase,
                operation,
            } => meters.excluded(name, phase, operation),
            Observation::PolicyCheck { phase, check, took } => {
                self.meters.policies.checked(phase, check, took);
            }
            Observation::PolicyConflicts {
                conflicts,
                resource,
                is_dry_run,
            } => {
                self.meters.policies.conflicting(conflicts);
                if !is_dry_run {
                    self.conflicts.add(conflicts, &resource.to_string());
                }
            }
            Observation::BeforeValidation(_) => {}
            Observation::FieldGates {
                crd,
                name,
                took,
                gates,
                actions,
            } => {
                tracing::debug!(crd, name, actions = actions.len(), "field gates ran");
                let meters = &self.meters.field_gates;
                meters.stepped(crd, took);
                for action in actions {
                    meters.acted(crd, gates.name(action), action.kind.as_str());
                }
            }
            Observation::OwnWrite {
                resource,
                key,
                verb,
                code,
            } => {
                if let Some(listener) = self.own_writes.get() {
                    listener(&OwnWrite {
                        resource,
                        key,
                        verb,
                        code,
                    });
                }
            }
        }
    }
}
