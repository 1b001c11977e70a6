//! `ResourceQuota` admission: a write that increases usage updates `status.used` of its namespace's quotas in the
//! same transaction.
//!
//! Quotas are read from the cache, however stale, and the transaction proves the cache fresh enough: each charged
//! quota must be at the revision that was read, and no other quota of the namespace may have been created or changed.
//! A quota is thus in force on every server as soon as its write is committed, and two servers cannot grant the same
//! remainder. If the transaction fails, or a quota is exceeded in a possibly stale cache, the write catches up with
//! the store and retries.

use lockstep_builtins::quota::{Attempt, Counted, Evaluator, Quota, Write, charge};
use lockstep_mvcc::{
    Expected, ExtraWrite, Fence, GuardedOp, GuardedOutcome, Key, KeyRange, KeyValue,
    RangeUnchanged, Revision,
};
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, GroupResource, Object, Value, json};
use std::sync::Arc;

use super::admission::{Attributes, Operation, Plugin};
use super::commit::Guards;
use super::controllers::keep;
use super::{DryRun, Resource, Subresource, WritePath};

const QUOTAS: &str = "resourcequotas";
/// Maximal number of attempts if quotas change. During this server's turn only other servers can change them.
const TRIES_MAX: usize = 32;
/// Quota-relevant data of a write.
pub struct Bill {
    evaluator: Evaluator,
    resource: GroupResource,
    namespace: String,
    name: String,
    write: Write,
    new: Value,
    old: Option<Value>,
    now: Seconds,
}

/// Turn of a write among this server's writers that charge quotas of one namespace. Of concurrent charges only one
/// could commit, so they run in sequence.
enum QuotaTurn {
    None,
    Taken { left: Option<Revision> },
}

/// A quota as read from the cache.
struct Seen {
    key: Key,
    at: Revision,
    object: Object,
    quota: Quota,
}

impl Bill {
    /// Charge of a write; `None` if no quota can apply to it.
    pub(super) fn of(attributes: &Attributes<'_>, object: &Object) -> Option<Self> {
        let request = attributes.request;
        let resource = &request.served.resource;
        // Reviews and bindings pass admission and are never stored, so they use up nothing.
        if !resource.is_namespaced() || !resource.is_stored() {
            return None;
        }
        let write = match (attributes.operation, attributes.subresource) {
            (Operation::Create, None) => Write::Create,
            (Operation::Update, None) => Write::Update,
            (Operation::Update, Some(Subresource::Status)) => Write::Status,
            (Operation::Update, Some(Subresource::Resize)) => Write::Resize,
            _ => return None,
        };
        let old = attributes.old;
        Self::new(resource, write, object, old, request.now)
    }

    /// Charge for an object that a controller creates.
    pub(super) fn of_creation(
        path: &WritePath<'_>,
        resource: &Resource,
        object: &Object,
        now: Seconds,
    ) -> Option<Self> {
        let is_on = path.env.plugins().has(Plugin::ResourceQuota);
        if !is_on || !resource.is_namespaced() {
            return None;
        }
        Self::new(resource, Write::Create, object, None, now)
    }

    fn new(
        resource: &Resource,
        write: Write,
        object: &Object,
        old: Option<&Object>,
        now: Seconds,
    ) -> Option<Self> {
        let evaluator = Evaluator::of(&resource.group, &resource.plural)?;
        let old = old.map(Object::as_value);
        if !evaluator.may_increase_usage(write, object.as_value(), old) {
            return None;
        }
        let inside = |value: &Value| {
            if evaluator.depends_on_contents() {
                value.clone()
            } else {
                Value::Null
            }
        };
        Some(Self {
            new: inside(object.as_value()),
            old: old.map(inside),
            resource: resource.group_resource(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            write,
            now,
            evaluator,
        })
    }
}

impl WritePath<'_> {
    /// Charge of a write. A dry run is checked here, and returns `None` because it must not be charged.
    pub(super) async fn billed(
        &self,
        attributes: &Attributes<'_>,
        object: &Object,
    ) -> Result<Option<Bill>, ApiError> {
        let bill = Bill::of(attributes, object);
        if attributes.dry_run == DryRun::No {
            return Ok(bill);
        }
        if let Some(bill) = bill {
            self.see_everything().await?;
            let seen = self.quotas(&bill.namespace);
            self.charged(&bill, &seen).await?;
        }
        Ok(None)
    }

    /// Writes an object and charges the quotas of its namespace, in one transaction.
    pub(super) async fn commit_billed(
        &self,
        bill: Option<&Bill>,
        fences: &[Fence],
        (resource, object_key): (&Arc<Resource>, &str),
        expected: Expected,
        op: GuardedOp,
    ) -> Result<GuardedOutcome, ApiError> {
        let Some(bill) = bill else {
            return self
                .commit_behind(fences, resource, object_key, expected, op)
                .await;
        };
        let mut turn = QuotaTurn::None;
        let place = (resource, object_key);
        let outcome = self
            .charge_and_commit(bill, fences, place, expected, &op, &mut turn)
            .await;
        if let QuotaTurn::Taken { left } = turn {
            self.io.end_quota_turn(left).await;
        }
        outcome
    }

    async fn charge_and_commit(
        &self,
        bill: &Bill,
        fences: &[Fence],
        (resource, object_key): (&Arc<Resource>, &str),
        expected: Expected,
        op: &GuardedOp,
        turn: &mut QuotaTurn,
    ) -> Result<GuardedOutcome, ApiError> {
        let mut has_seen_everything = false;
        for _ in 0..TRIES_MAX {
            let seen = self.quotas(&bill.namespace);
            let extra_writes = match self.charged(bill, &seen).await {
                Ok(extra_writes) => extra_writes,
                Err(refusal) if has_seen_everything => return Err(refusal),
                Err(_) => {
                    self.see_everything().await?;
                    has_seen_everything = true;
                    continue;
                }
            };
            if matches!(turn, QuotaTurn::None) && !extra_writes.is_empty() {
                let left = self.io.take_quota_turn(&bill.namespace).await;
                *turn = QuotaTurn::Taken { left: None };
                // A stale cache costs one more attempt; the transaction decides.
                let _or_the_store_says_no = self.io.catch_up_to(left).await;
                continue;
            }
            let guards = Guards {
                fences,
                unchanged_ranges: self.unchanged_range(&bill.namespace, &seen),
                extra_writes,
            };
            let outcome = self
                .commit_guarded(guards, resource, object_key, expected, op.clone())
                .await?;
            if let GuardedOutcome::Committed { revision } = outcome {
                if let QuotaTurn::Taken { left } = turn {
                    *left = Some(revision);
                }
                return Ok(outcome);
            }
            if !is_as_expected(&outcome, expected, fences) {
                return Ok(outcome);
            }
            self.see_everything().await?;
            has_seen_everything = true;
            if !has_moved(&seen, &self.quotas(&bill.namespace)) {
                return Ok(outcome);
            }
        }
        let quotas = GroupResource::new("", QUOTAS);
        Err(ApiError::modified(&quotas, &bill.namespace))
    }

    async fn see_everything(&self) -> Result<(), ApiError> {
        let why = "the store is not available";
        if self.io.catch_up().await {
            return Ok(());
        }
        Err(ApiError::service_unavailable(why, 1))
    }

    /// Cached quotas of a namespace.
    fn quotas(&self, namespace: &str) -> Vec<Seen> {
        let registry = self.registry();
        let Some(resource) = registry.resource("", QUOTAS) else {
            return Vec::new();
        };
        let stored = self.env.cached_list(&resource.bucket, Some(namespace));
        let seen = stored.into_iter().filter_map(|stored| {
            let object = stored.object()?;
            let name = std::str::from_utf8(&stored.key).ok()?;
            Some(Seen {
                key: Key::new(resource.store_key(self.env.prefix(), name)).ok()?,
                at: stored.revision,
                quota: Quota::read(object.as_value()),
                object,
            })
        });
        seen.collect()
    }

    /// Precondition that no quota of the namespace was created or changed, other than those that were read.
    fn unchanged_range(&self, namespace: &str, seen: &[Seen]) -> Vec<RangeUnchanged> {
        let registry = self.registry();
        let resource = registry.resource("", QUOTAS).into_iter();
        let newest = seen.iter().map(|quota| quota.at).max();
        let unchanged = resource.map(|resource| {
            let keys = resource.store_key(self.env.prefix(), &format!("{namespace}/"));
            RangeUnchanged {
                keys: KeyRange::prefix(keys),
                newest: newest.unwrap_or(Revision::NONE),
            }
        });
        unchanged.collect()
    }

    /// Updated quotas, or 403 if one is exceeded. Resources missing in `status.used` are counted first.
    async fn charged(&self, bill: &Bill, seen: &[Seen]) -> Result<Vec<ExtraWrite>, ApiError> {
        let mut quotas: Vec<Quota> = seen.iter().map(|seen| seen.quota.clone()).collect();
        if quotas
            .iter()
            .any(|quota| quota.is_uncounted(&bill.evaluator))
        {
            // INVARIANT: the counted state is at least as new as every quota that was read.
            self.see_everything().await?;
            let counted = self.counted(bill);
            let uncounted = quotas.iter_mut();
            for quota in uncounted.filter(|quota| quota.is_uncounted(&bill.evaluator)) {
                quota.recount(&bill.evaluator, &counted);
            }
        }
        let attempt = Attempt {
            write: bill.write,
            new: &bill.new,
            old: bill.old.as_ref(),
            now: bill.now,
        };
        let charges = charge(&bill.evaluator, &quotas, &attempt);
        let refused = |why: String| ApiError::forbidden(&bill.resource, &bill.name, why);
        let registry = self.registry();
        let Some(resource) = registry.resource("", QUOTAS) else {
            return Ok(Vec::new());
        };
        let charges = charges.map_err(refused)?.into_iter();
        let replaced = charges.map(|charge| {
            let seen = &seen[charge.index];
            let mut object = seen.object.clone();
            charge.quota.write_status(&mut object);
            Ok(ExtraWrite::Replace {
                key: seen.key.clone(),
                at: seen.at,
                value: keep(resource, object)?,
            })
        });
        replaced.collect()
    }

    /// Usage of all objects of the resource in the namespace.
    fn counted(&self, bill: &Bill) -> Vec<Counted> {
        let registry = self.registry();
        let resource = registry.resource(&bill.resource.group, &bill.resource.resource);
        let Some(resource) = resource else {
            return Vec::new();
        };
        let stored = self
            .env
            .cached_list(&resource.bucket, Some(&bill.namespace));
        let objects = stored.into_iter().map(|stored| {
            let value = if bill.evaluator.depends_on_contents() {
                json::read(&stored.value).unwrap_or_default()
            } else {
                Value::Null
            };
            bill.evaluator.counted(&value, bill.now)
        });
        objects.collect()
    }
}

/// True if a failed transaction is due neither to the object nor to a fence, but to quotas.
fn is_as_expected(outcome: &GuardedOutcome, expected: Expected, fences: &[Fence]) -> bool {
    let GuardedOutcome::ConditionFailed {
        current,
        fences: found,
        ..
    } = outcome
    else {
        return false;
    };
    let revision = |kv: &Option<Arc<KeyValue>>| kv.as_ref().map(|kv| kv.mod_revision);
    let at = match expected {
        Expected::Absent => None,
        Expected::At(revision) => Some(revision),
    };
    let mut pairs = fences.iter().zip(found);
    let stands = |(fence, found): (&Fence, &Option<Arc<KeyValue>>)| {
        revision(found).unwrap_or(Revision::NONE) == fence.at
    };
    revision(current) == at && pairs.all(stands)
}

fn has_moved(before: &[Seen], now: &[Seen]) -> bool {
    let revisions = |quotas: &[Seen]| -> Vec<(Key, Revision)> {
        let quotas = quotas.iter();
        quotas.map(|quota| (quota.key.clone(), quota.at)).collect()
    };
    revisions(before) != revisions(now)
}
