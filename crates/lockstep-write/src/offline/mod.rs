//! The write path on a store in memory: for tools that evaluate a write without a server, and for tests.
//!
//! Webhooks are not called: a conversion fails, and an admission webhook is treated as unreachable. Every request is
//! authorized, and randomness is a counter, so equal input gives equal output.

mod evaluate;
pub mod policies;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lockstep_admission::features::Features;
use lockstep_admission::set::PolicySet;
use lockstep_authz::{Attributes, Authorizer, Decision, Policies};
use lockstep_builtins::services::ServiceRange;
use lockstep_catalog::builtin::{self, Apis};
use lockstep_catalog::crd::{self, Compilation, CustomError, FieldGates, Untimed};
use lockstep_catalog::{Registry, Resource, SchemaChange};
use lockstep_mvcc::{
    BucketKey, Command, GuardedOutcome, GuardedWrite, Key, KeyRange, Limits,
    Machine as StoreMachine, Put, Range, ReadFailure, Response, Revision, Txn, WriteFailure,
};
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Object};
use parking_lot::Mutex;

pub use evaluate::{Evaluated, Evaluation, EvaluationError, GateAction};

use crate::admission::{Hook, Phase, Plugins};
use crate::{
    CachedBytes, CallFailure, Environment, Internal, Io, Machine, Need, Observation, Reply, Step,
    WriteAnswer, WriteOrigin, WritePath, WriteRequest,
};

const PREFIX: &[u8] = b"/registry/";

/// Environment and driver of writes, with a store of its own.
pub struct Offline {
    registry: Arc<Registry>,
    store: Mutex<StoreMachine>,
    plugins: Plugins,
    randomness: AtomicU64,
    /// Needs in order of emission.
    needs: Mutex<Vec<&'static str>>,
    trace: Mutex<Trace>,
}

/// Observations of the last write.
#[derive(Default)]
struct Trace {
    actions: Vec<GateAction>,
    before_validation: Option<Object>,
}

impl Default for Offline {
    fn default() -> Self {
        let apis = Apis::all();
        let builtins = builtin::resources(lockstep_cel::Version::LATEST, &apis);
        Self {
            registry: Arc::new(Registry::new(builtins)),
            store: Mutex::default(),
            plugins: Plugins::default(),
            randomness: AtomicU64::default(),
            needs: Mutex::default(),
            trace: Mutex::default(),
        }
    }
}

impl Offline {
    /// Stores a CRD and serves the resource that it defines. The CRD must be valid.
    pub fn serve(&mut self, definition: &Object, now: Seconds) -> Result<(), CustomError> {
        let place = (crd::GROUP, crd::PLURAL, definition.name());
        let stored = self.create(WriteOrigin::System, place, definition.clone(), now);
        let revision = match stored {
            Internal::Done(revision) => revision,
            Internal::Moved | Internal::Refused | Internal::Failed => {
                return Err(CustomError::Incomplete);
            }
        };
        let resource = compile(definition, revision)?;
        let mut registry = Registry::clone(&self.registry);
        registry.insert(resource);
        self.registry = Arc::new(registry);
        Ok(())
    }

    /// Creates an object as the server's own controllers do, or as the server itself. The key is `[namespace/]name`.
    pub fn create(
        &self,
        origin: WriteOrigin,
        (group, plural, key): (&str, &str, &str),
        object: Object,
        now: Seconds,
    ) -> Internal {
        let io = Io::default();
        let path = WritePath::new(self, &io);
        let write = path.create_internally(origin, (group, plural, key), object, now);
        self.drive(Machine::new(io.clone(), write))
    }

    /// Stores bytes without any check, as if another server had written them.
    pub fn put(&self, resource: &Resource, key: &str, value: Bytes) -> Revision {
        let key = Key::new(resource.store_key(PREFIX, key)).expect("the prefix is not empty");
        let txn = Txn {
            success: vec![lockstep_mvcc::Op::Put(Put::new(key, value))],
            ..Txn::default()
        };
        let txn = txn.check(Limits::default().txn_ops_max);
        let put = Command::Txn(txn.expect("one put is a valid transaction"));
        self.store.lock().apply(put).revision
    }

    /// Performs a write.
    pub fn write(&self, request: &mut WriteRequest<'_>) -> Result<WriteAnswer, ApiError> {
        *self.trace.lock() = Trace::default();
        let io = Io::default();
        let path = WritePath::new(self, &io);
        self.drive(Machine::new(io.clone(), path.write(request)))
    }

    /// Runs a write to its end.
    pub fn drive<T>(&self, mut write: Machine<'_, T>) -> T {
        let mut reply = None;
        loop {
            match write.step(reply.take()) {
                Step::Done(done) => return done,
                Step::Needs(need) => reply = Some(self.fulfil(need)),
            }
        }
    }

    /// Replies to one need of a write.
    pub fn fulfil(&self, need: Need) -> Reply {
        let (name, reply) = match need {
            Need::Read(resource, key) => {
                let found = self.read(resource.store_key(PREFIX, &key));
                ("read", Reply::Read(found))
            }
            Need::Commit(_, write) => ("commit", Reply::Committed(self.commit(write))),
            Need::CatchUp | Need::CatchUpTo(_) => ("catch up", Reply::CaughtUp(true)),
            Need::TakeQuotaTurn(_) => ("turn", Reply::QuotaTurn(Revision::NONE)),
            Need::EndQuotaTurn(_) | Need::Pause(_) => ("wait", Reply::Done),
            Need::Convert { .. } => {
                let failure = ApiError::ConversionFailed(
                    "conversion webhooks are not called offline".to_owned(),
                );
                ("convert", Reply::Converted(Err(failure)))
            }
            Need::CallWebhooks(calls) => {
                let unreachable = CallFailure {
                    reason: "webhooks are not called offline".to_owned(),
                    code: 503,
                };
                let failures = calls.iter().map(|_| Err(unreachable.clone())).collect();
                ("call", Reply::Called(failures))
            }
        };
        self.needs.lock().push(name);
        reply
    }

    /// Names of the needs since the last call, in their order.
    pub fn take_needs(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.needs.lock())
    }

    fn read(
        &self,
        key: impl Into<Bytes>,
    ) -> Result<Option<Arc<lockstep_mvcc::KeyValue>>, ReadFailure> {
        let key = Key::new(key).expect("the prefix is not empty");
        let range = Range::new(KeyRange::single(key));
        let found = self.store.lock().range(&range)?;
        Ok(found.kvs.into_iter().next())
    }

    fn commit(&self, write: GuardedWrite) -> Result<GuardedOutcome, WriteFailure> {
        let txn = write.txn(Limits::default().txn_ops_max)?;
        let applied = self.store.lock().apply(Command::Txn(txn));
        match applied.response? {
            Response::Txn(answer) => Ok(GuardedOutcome::of(answer)),
            other => unreachable!("a transaction was answered by {other:?}"),
        }
    }
}

/// Compiles a CRD without a conversion webhook.
fn compile(definition: &Object, revision: Revision) -> Result<Resource, CustomError> {
    let compilation = Compilation {
        converter: None,
        timer: Arc::new(Untimed),
        schema_change: Arc::new(SchemaChange::default()),
        field_gates: FieldGates::On,
    };
    crd::resource(definition, revision, compilation)
}

impl Environment for Offline {
    fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry)
    }

    fn prefix(&self) -> &[u8] {
        PREFIX
    }

    fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    fn service_range(&self) -> ServiceRange {
        ServiceRange::default()
    }

    fn field_gates(&self) -> FieldGates {
        FieldGates::On
    }

    fn random_u128(&self) -> u128 {
        u128::from(self.randomness.fetch_add(1, Ordering::Relaxed))
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn cached_bytes(&self, bucket: &BucketKey, key: &[u8]) -> Option<CachedBytes> {
        let found = self.read([PREFIX, bucket.name(), b"/", key].concat());
        let found = found.ok()??;
        Some(CachedBytes {
            key: Bytes::copy_from_slice(key),
            value: found.value.clone(),
            revision: found.mod_revision,
        })
    }

    fn cached_list(&self, bucket: &BucketKey, namespace: Option<&str>) -> Vec<CachedBytes> {
        let bucket = [PREFIX, bucket.name(), b"/"].concat();
        let within = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        let keys = KeyRange::prefix([&bucket, within.as_bytes()].concat());
        let found = self.store.lock().range(&Range::new(keys));
        let found = found.expect("nothing is compacted").kvs.into_iter();
        let cached = found.map(|found| CachedBytes {
            key: found.key.slice(bucket.len()..),
            value: found.value.clone(),
            revision: found.mod_revision,
        });
        cached.collect()
    }

    fn policies(&self) -> Arc<Policies> {
        Arc::default()
    }

    fn authorize(&self, _attributes: &Attributes<'_>) -> Decision {
        Decision::allow("")
    }

    fn authorizer(&self) -> Authorizer {
        Arc::new(|_| Decision::allow(""))
    }

    fn webhooks(&self, _phase: Phase) -> Arc<[Arc<Hook>]> {
        Arc::default()
    }

    fn admission_policies(&self) -> Arc<PolicySet> {
        Arc::default()
    }

    fn policy_features(&self) -> Features {
        Features::default()
    }

    fn observe(&self, observation: &Observation<'_>) {
        match observation {
            Observation::FieldGates { gates, actions, .. } => {
                let actions = actions.iter().map(|action| GateAction {
                    gate: gates.name(action).to_owned(),
                    path: action.place(),
                    action: action.kind.as_str(),
                });
                self.trace.lock().actions = actions.collect();
            }
            Observation::BeforeValidation(object) => {
                self.trace.lock().before_validation = Some(Object::clone(object));
            }
            _ => {}
        }
    }
}
