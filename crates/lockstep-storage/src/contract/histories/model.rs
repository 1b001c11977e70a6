//! Reference model of a store, limited to the requests that the clients send.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{
    Compare, Comparison, DeleteRangeResponse, KeyValue, LeaseId, Op, OpResponse, Predicate,
    PutLease, PutResponse, PutValue, Range, RangeResponse, Revision, Txn, TxnResponse,
};

/// The keys at one revision.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) revision: Revision,
    pairs: BTreeMap<Bytes, KeyValue>,
    /// The changes that led to this state from the previous one: the new key-value (or tombstone) and the one it
    /// replaced.
    pub(super) changes: Vec<(KeyValue, Option<KeyValue>)>,
}

impl State {
    pub(super) fn empty(revision: Revision) -> Self {
        Self {
            revision,
            ..Self::default()
        }
    }

    /// Applies a transaction and returns the new state and response. The revision stays if nothing changed.
    pub(super) fn after(&self, txn: &Txn) -> (Self, TxnResponse) {
        let succeeded = txn.compares.iter().all(|compare| self.holds(compare));
        let ops = if succeeded {
            &txn.success
        } else {
            &txn.failure
        };
        let mut next = Self {
            changes: Vec::new(),
            ..self.clone()
        };
        let at = self.revision.next();
        let responses = ops.iter().map(|op| next.run(op, at)).collect();
        if !next.changes.is_empty() {
            next.revision = at;
        }
        let revision = next.revision;
        let answer = TxnResponse {
            revision,
            succeeded,
            responses,
        };
        (next, answer)
    }

    /// Deletes the keys of a lease, in key order.
    pub(super) fn after_revocation(&self, lease: LeaseId) -> Self {
        let mut next = Self {
            changes: Vec::new(),
            ..self.clone()
        };
        let at = self.revision.next();
        let attached = self.pairs.values().filter(|kv| kv.lease == lease);
        for kv in attached {
            next.delete(&kv.key, at);
        }
        if !next.changes.is_empty() {
            next.revision = at;
        }
        next
    }

    pub(super) fn read(&self, range: &Range) -> RangeResponse {
        let inside = |kv: &&KeyValue| range.keys.contains(&kv.key);
        let kvs: Vec<_> = self.pairs.values().filter(inside).cloned().collect();
        RangeResponse {
            revision: Revision::NONE,
            more: false,
            count: kvs.len(),
            kvs: kvs.into_iter().map(Arc::new).collect(),
        }
    }

    fn holds(&self, compare: &Compare) -> bool {
        let Predicate::ModRevision(given) = compare.predicate else {
            unreachable!("the clients compare mod revisions");
        };
        assert_eq!(compare.comparison, Comparison::Equal, "and for equality");
        let key = compare.keys.as_single().expect("of one key");
        let stored = self.pairs.get(key).map_or(0, |kv| kv.mod_revision.0);
        i64::try_from(stored) == Ok(given)
    }

    fn run(&mut self, op: &Op, at: Revision) -> OpResponse {
        match op {
            Op::Range(range) => OpResponse::Range(self.read(range)),
            Op::Put(put) => {
                let PutValue::Set(value) = &put.value else {
                    unreachable!("the clients bring values");
                };
                let PutLease::Set(lease) = put.lease else {
                    unreachable!("the clients name leases");
                };
                self.put(put.key.bytes(), value, lease, at);
                OpResponse::Put(PutResponse {
                    revision: Revision::NONE,
                    previous: None,
                })
            }
            Op::DeleteRange(delete) => {
                let key = delete.keys.as_single().expect("the clients delete one key");
                OpResponse::DeleteRange(DeleteRangeResponse {
                    revision: Revision::NONE,
                    deleted: self.delete(key, at),
                    previous: Vec::new(),
                })
            }
            Op::Txn(_) => unreachable!("the clients nest nothing"),
        }
    }

    fn put(&mut self, key: &Bytes, value: &Bytes, lease: LeaseId, at: Revision) {
        let before = self.pairs.get(key).cloned();
        let kv = KeyValue {
            key: key.clone(),
            value: value.clone(),
            create_revision: before.as_ref().map_or(at, |kv| kv.create_revision),
            mod_revision: at,
            version: before.as_ref().map_or(1, |kv| kv.version + 1),
            lease,
            ..KeyValue::default()
        };
        self.pairs.insert(key.clone(), kv.clone());
        self.changes.push((kv, before));
    }

    fn delete(&mut self, key: &Bytes, at: Revision) -> usize {
        let Some(before) = self.pairs.remove(key) else {
            return 0;
        };
        let tombstone = KeyValue {
            key: key.clone(),
            mod_revision: at,
            ..KeyValue::default()
        };
        self.changes.push((tombstone, Some(before)));
        1
    }
}

/// Clears the fields of a key-value that not every store returns.
pub(super) fn plain(kv: &KeyValue) -> KeyValue {
    KeyValue {
        sub_revision: 0,
        ..kv.clone()
    }
}

/// Clears the fields of a read response that the model does not predict.
pub(super) fn plain_read(found: &RangeResponse) -> RangeResponse {
    RangeResponse {
        revision: Revision::NONE,
        kvs: found.kvs.iter().map(|kv| Arc::new(plain(kv))).collect(),
        ..*found
    }
}

/// Clears the fields of a transaction response that the model does not predict: inner revisions, and previous
/// key-values, which the clients do not request.
pub(super) fn plain_answer(answer: &TxnResponse) -> TxnResponse {
    let responses = answer.responses.iter().map(|response| match response {
        OpResponse::Range(found) => OpResponse::Range(plain_read(found)),
        OpResponse::Put(_) => OpResponse::Put(PutResponse {
            revision: Revision::NONE,
            previous: None,
        }),
        OpResponse::DeleteRange(deleted) => OpResponse::DeleteRange(DeleteRangeResponse {
            revision: Revision::NONE,
            deleted: deleted.deleted,
            previous: Vec::new(),
        }),
        OpResponse::Txn(nested) => OpResponse::Txn(plain_answer(nested)),
    });
    TxnResponse {
        responses: responses.collect(),
        ..*answer
    }
}

/// True if the response shows that the transaction changed a key.
pub(super) fn changed(answer: &TxnResponse) -> bool {
    answer.responses.iter().any(|response| match response {
        OpResponse::Range(_) => false,
        OpResponse::Put(_) => true,
        OpResponse::DeleteRange(deleted) => deleted.deleted > 0,
        OpResponse::Txn(nested) => changed(nested),
    })
}
