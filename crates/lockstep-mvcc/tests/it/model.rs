//! Reference model, as simple as possible: every revision is a whole map.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{
    Bounds, Command, Compare, Comparison, Content, DeleteRange, DeleteRangeResponse, Event,
    Filters, KeyRange, KeyValue, LeaseId, Op, OpResponse, Predicate, Previous, Put, PutLease,
    PutResponse, PutValue, Range, RangeResponse, ReadError, Response, Revision, Sort, SortOrder,
    SortTarget, Txn, TxnResponse, WatchSelector, WriteError,
};

type State = BTreeMap<Bytes, KeyValue>;

#[derive(Clone)]
pub(crate) struct Model {
    /// The state at each revision, from 0.
    states: Vec<State>,
    /// The changes of each revision, in order.
    changes: Vec<Vec<KeyValue>>,
    pub(crate) compacted: Revision,
    pub(crate) leases: BTreeMap<LeaseId, i64>,
}

/// An uncommitted transaction.
struct Draft {
    state: State,
    changes: Vec<KeyValue>,
    revision: Revision,
}

impl Draft {
    fn revision_so_far(&self) -> Revision {
        match self.changes.len() {
            0 => self.revision.previous(),
            _ => self.revision,
        }
    }

    fn sub(&self) -> u32 {
        u32::try_from(self.changes.len()).unwrap()
    }
}

impl Default for Model {
    fn default() -> Self {
        Self {
            states: vec![State::new(), State::new()],
            changes: vec![Vec::new(), Vec::new()],
            compacted: Revision::NONE,
            leases: BTreeMap::new(),
        }
    }
}

impl Model {
    pub(crate) fn revision(&self) -> Revision {
        Revision(u64::try_from(self.states.len()).unwrap() - 1)
    }

    pub(crate) fn keys_of(&self, id: LeaseId) -> Vec<&Bytes> {
        let state = self.states.last().unwrap().values();
        state
            .filter(|kv| kv.lease == id)
            .map(|kv| &kv.key)
            .collect()
    }

    pub(crate) fn apply(&mut self, command: &Command) -> Result<Response, WriteError> {
        let mut draft = Draft {
            state: self.states.last().unwrap().clone(),
            changes: Vec::new(),
            revision: self.revision().next(),
        };
        let response = match command {
            Command::Put(put) => Response::Put(self.put(&mut draft, put)?),
            Command::DeleteRange(delete) => Response::DeleteRange(remove(&mut draft, delete)),
            Command::Txn(txn) => Response::Txn(self.txn(&mut draft, txn.txn())?),
            Command::Compact { at } => return self.compact(*at),
            Command::LeaseGrant { id, ttl_seconds } => return self.grant(*id, *ttl_seconds),
            Command::LeaseRevoke { id } => {
                self.leases.remove(id).ok_or(WriteError::LeaseNotFound)?;
                let keys: Vec<_> = self.keys_of(*id).into_iter().cloned().collect();
                for key in keys {
                    remove_one(&mut draft, &key);
                }
                Response::LeaseRevoke
            }
            Command::Alarm { .. } => unreachable!("properties raise no alarms"),
        };
        if !draft.changes.is_empty() {
            self.states.push(draft.state);
            self.changes.push(draft.changes);
        }
        Ok(response)
    }

    fn compact(&mut self, at: Revision) -> Result<Response, WriteError> {
        let (compacted, current) = (self.compacted, self.revision());
        if at <= compacted {
            return Err(ReadError::Compacted { compacted }.into());
        }
        if at > current {
            return Err(ReadError::FutureRevision { current }.into());
        }
        self.compacted = at;
        Ok(Response::Compact)
    }

    fn grant(&mut self, id: LeaseId, ttl_seconds: i64) -> Result<Response, WriteError> {
        if self.leases.contains_key(&id) {
            return Err(WriteError::LeaseExists);
        }
        self.leases.insert(id, ttl_seconds);
        Ok(Response::LeaseGrant { ttl_seconds })
    }

    fn put(&self, draft: &mut Draft, put: &Put) -> Result<PutResponse, WriteError> {
        let before = draft.state.get(put.key.bytes()).cloned();
        let keeps = put.value == PutValue::Keep || put.lease == PutLease::Keep;
        if keeps && before.is_none() {
            return Err(WriteError::KeyNotFound);
        }
        let old = before.clone().unwrap_or_default();
        let lease = match put.lease {
            PutLease::Set(lease) => lease,
            PutLease::Keep => old.lease,
        };
        if lease != LeaseId::NONE && !self.leases.contains_key(&lease) {
            return Err(WriteError::LeaseNotFound);
        }
        let kv = KeyValue {
            key: put.key.bytes().clone(),
            value: match &put.value {
                PutValue::Set(value) => value.clone(),
                PutValue::Keep => old.value,
            },
            create_revision: match old.version {
                0 => draft.revision,
                _ => old.create_revision,
            },
            mod_revision: draft.revision,
            sub_revision: draft.sub(),
            version: old.version + 1,
            lease,
        };
        draft.state.insert(kv.key.clone(), kv.clone());
        draft.changes.push(kv);
        Ok(PutResponse {
            revision: draft.revision,
            previous: before
                .filter(|_| put.previous == Previous::Return)
                .map(Arc::new),
        })
    }

    fn txn(&self, draft: &mut Draft, txn: &Txn) -> Result<TxnResponse, WriteError> {
        // Compares are evaluated on the committed state, not on the draft.
        let committed = self.states.last().unwrap();
        let succeeded = txn.compares.iter().all(|compare| holds(committed, compare));
        let ops = if succeeded {
            &txn.success
        } else {
            &txn.failure
        };
        let mut responses = Vec::new();
        for op in ops {
            responses.push(match op {
                Op::Range(range) => OpResponse::Range(self.range_in(draft, range)?),
                Op::Put(put) => OpResponse::Put(self.put(draft, put)?),
                Op::DeleteRange(delete) => OpResponse::DeleteRange(remove(draft, delete)),
                Op::Txn(txn) => OpResponse::Txn(self.txn(draft, txn)?),
            });
        }
        Ok(TxnResponse {
            revision: draft.revision_so_far(),
            succeeded,
            responses,
        })
    }

    pub(crate) fn range(&self, range: &Range) -> Result<RangeResponse, ReadError> {
        let draft = Draft {
            state: self.states.last().unwrap().clone(),
            changes: Vec::new(),
            revision: self.revision().next(),
        };
        self.range_in(&draft, range)
    }

    fn range_in(&self, draft: &Draft, range: &Range) -> Result<RangeResponse, ReadError> {
        let state = match range.at {
            None => &draft.state,
            Some(at) if at > self.revision() => {
                let current = self.revision();
                return Err(ReadError::FutureRevision { current });
            }
            Some(at) if at < self.compacted => {
                let compacted = self.compacted;
                return Err(ReadError::Compacted { compacted });
            }
            Some(at) => &self.states[usize::try_from(at.0).unwrap()],
        };
        Ok(answer(state, range, draft.revision_so_far()))
    }

    pub(crate) fn events(&self, selector: &WatchSelector, from: Revision) -> Vec<Event> {
        let mut events = Vec::new();
        let first = usize::try_from(from.0).unwrap().min(self.changes.len());
        for (at, changes) in self.changes.iter().enumerate().skip(first) {
            for kv in changes {
                let Filters { no_put, no_delete } = selector.filters;
                let filtered = if kv.version == 0 { no_delete } else { no_put };
                if filtered || !selector.keys.contains(&kv.key) {
                    continue;
                }
                let readable = self.states[at - 1].get(&kv.key).filter(|_| {
                    selector.previous == Previous::Return && kv.mod_revision > self.compacted
                });
                events.push(Event {
                    kv: Arc::new(kv.clone()),
                    previous: readable.cloned().map(Arc::new),
                });
            }
        }
        events
    }
}

fn inside<'s>(state: &'s State, keys: &KeyRange) -> Vec<&'s KeyValue> {
    let pairs = state.values();
    pairs.filter(|kv| keys.contains(&kv.key)).collect()
}

fn remove(draft: &mut Draft, delete: &DeleteRange) -> DeleteRangeResponse {
    let gone = inside(&draft.state, &delete.keys);
    let gone: Vec<_> = gone.into_iter().cloned().collect();
    for kv in &gone {
        remove_one(draft, &kv.key);
    }
    DeleteRangeResponse {
        revision: draft.revision_so_far(),
        deleted: gone.len(),
        previous: match delete.previous {
            Previous::Return => gone.into_iter().map(Arc::new).collect(),
            Previous::Omit => Vec::new(),
        },
    }
}

fn remove_one(draft: &mut Draft, key: &Bytes) {
    draft.state.remove(key);
    let tombstone = KeyValue {
        key: key.clone(),
        mod_revision: draft.revision,
        sub_revision: draft.sub(),
        ..KeyValue::default()
    };
    draft.changes.push(tombstone);
}

fn holds(state: &State, compare: &Compare) -> bool {
    let mut kvs = inside(state, &compare.keys);
    let zeros = KeyValue::default();
    if kvs.is_empty() {
        if matches!(compare.predicate, Predicate::Value(_)) {
            return false;
        }
        kvs.push(&zeros);
    }
    let signed = |number: u64| i64::try_from(number).unwrap();
    kvs.iter().all(|kv| {
        let ordering = match &compare.predicate {
            Predicate::Version(given) => signed(kv.version).cmp(given),
            Predicate::CreateRevision(given) => signed(kv.create_revision.0).cmp(given),
            Predicate::ModRevision(given) => signed(kv.mod_revision.0).cmp(given),
            Predicate::Value(given) => kv.value.cmp(given),
            Predicate::Lease(given) => kv.lease.cmp(given),
        };
        match compare.comparison {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::Less => ordering.is_lt(),
        }
    })
}

fn answer(state: &State, range: &Range, revision: Revision) -> RangeResponse {
    let within = |bounds: Bounds, revision: Revision| {
        revision >= bounds.min && (bounds.max.0 == 0 || revision <= bounds.max)
    };
    let mut kvs = inside(state, &range.keys);
    let count = kvs.len();
    kvs.retain(|kv| within(range.mod_revisions, kv.mod_revision));
    kvs.retain(|kv| within(range.create_revisions, kv.create_revision));
    if let Some(Sort { target, order }) = range.sort {
        // Reversing before and after a stable sort keeps equal pairs in key order.
        let descending = order == SortOrder::Descend;
        if descending {
            kvs.reverse();
        }
        match target {
            SortTarget::Key => kvs.sort_by_key(|kv| &kv.key),
            SortTarget::Version => kvs.sort_by_key(|kv| kv.version),
            SortTarget::CreateRevision => kvs.sort_by_key(|kv| kv.create_revision),
            SortTarget::ModRevision => kvs.sort_by_key(|kv| kv.mod_revision),
            SortTarget::Value => kvs.sort_by_key(|kv| &kv.value),
        }
        if descending {
            kvs.reverse();
        }
    }
    let is_cut = range.limit > 0 && kvs.len() > range.limit;
    if is_cut {
        kvs.truncate(range.limit);
    }
    let shown = |kv: &KeyValue| match range.content {
        Content::Full => kv.clone(),
        Content::KeysOnly | Content::CountOnly => kv.without_value(),
    };
    match range.content {
        Content::CountOnly => RangeResponse {
            revision,
            count,
            ..RangeResponse::default()
        },
        Content::Full | Content::KeysOnly => RangeResponse {
            revision,
            kvs: kvs.into_iter().map(|kv| Arc::new(shown(kv))).collect(),
            more: is_cut,
            count,
        },
    }
}
