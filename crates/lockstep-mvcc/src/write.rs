//! Execution of a modifying transaction.

use std::sync::Arc;

use bytes::Bytes;

use crate::history::Change;
use crate::index::Record;
use crate::paths::Path;
use crate::{
    DeleteRange, DeleteRangeResponse, KeyValue, LeaseId, Machine, Op, OpResponse, Previous, Put,
    PutLease, PutResponse, PutValue, Response, Revision, Txn, TxnResponse, WriteError,
};

/// The changes of one revision. All checks precede the first change, so there is no rollback.
pub(crate) struct Write<'m> {
    machine: &'m mut Machine,
    /// The revision of the changes.
    revision: Revision,
    /// Number of changes so far, the next sub-revision.
    changes: u32,
}

impl<'m> Write<'m> {
    pub(crate) fn new(machine: &'m mut Machine) -> Self {
        let revision = machine.revision.next();
        Self {
            machine,
            revision,
            changes: 0,
        }
    }

    /// Makes the changes current; returns their revision if there are any.
    pub(crate) fn commit(self) -> Option<Revision> {
        if self.changes == 0 {
            return None;
        }
        self.machine.revision = self.revision;
        Some(self.revision)
    }

    pub(crate) fn command_put(&mut self, put: Put) -> Result<Response, WriteError> {
        self.machine.check_put(&put)?;
        Ok(Response::Put(self.put(put)))
    }

    pub(crate) fn command_txn(&mut self, txn: Txn) -> Result<Response, WriteError> {
        let path = self.machine.path(&txn);
        self.machine.check(&txn, &path)?;
        Ok(Response::Txn(self.txn(txn, &path)))
    }

    /// The revision that a read inside the transaction returns.
    fn revision_so_far(&self) -> Revision {
        if self.changes == 0 {
            self.machine.revision
        } else {
            self.revision
        }
    }

    fn txn(&mut self, txn: Txn, path: &Path) -> TxnResponse {
        let ops = if path.succeeded {
            txn.success
        } else {
            txn.failure
        };
        let mut nested = path.nested.iter();
        let mut responses = Vec::with_capacity(ops.len());
        for op in ops {
            responses.push(match op {
                Op::Range(range) => {
                    let revision = self.revision_so_far();
                    OpResponse::Range(self.machine.range_checked(&range, revision))
                }
                Op::Put(put) => OpResponse::Put(self.put(put)),
                Op::DeleteRange(delete) => OpResponse::DeleteRange(self.delete_range(&delete)),
                Op::Txn(txn) => {
                    let path = nested
                        .next()
                        .expect("a path was decided for each nested transaction");
                    OpResponse::Txn(self.txn(txn, path))
                }
            });
        }
        TxnResponse {
            revision: self.revision_so_far(),
            succeeded: path.succeeded,
            responses,
        }
    }

    /// Applies a put that was checked before.
    fn put(&mut self, put: Put) -> PutResponse {
        let found = self.machine.index.find(put.key.bytes());
        let before = found.ok().map(|place| self.machine.index.record(place));
        let previous = before.and_then(Record::live).cloned();
        // Reuse the stored key: the request's bytes may keep a whole network buffer alive.
        let known_key = before.map(|record| record.key().clone());
        let key = known_key.unwrap_or_else(|| put.key.into_bytes());
        let kv = Arc::new(self.next_version(key, put.value, put.lease, previous.as_deref()));
        let lease_before = previous.as_ref().map_or(LeaseId::NONE, |kv| kv.lease);
        self.machine
            .leases
            .transfer(&kv.key, lease_before, kv.lease);
        self.machine.history.push(Change {
            kv: kv.clone(),
            previous: previous.clone(),
        });
        match found {
            Ok(place) => self.machine.index.change(place, |record| record.push(kv)),
            Err(place) => self.machine.index.insert(place, Record::new(kv)),
        }
        self.changes += 1;
        PutResponse {
            revision: self.revision,
            previous: previous.filter(|_| put.previous == Previous::Return),
        }
    }

    fn next_version(
        &self,
        key: Bytes,
        value: PutValue,
        lease: PutLease,
        previous: Option<&KeyValue>,
    ) -> KeyValue {
        KeyValue {
            key,
            value: match value {
                PutValue::Set(value) => value,
                PutValue::Keep => previous.map(|kv| kv.value.clone()).unwrap_or_default(),
            },
            create_revision: previous.map_or(self.revision, |kv| kv.create_revision),
            mod_revision: self.revision,
            sub_revision: self.changes,
            version: previous.map_or(0, |kv| kv.version) + 1,
            lease: match lease {
                PutLease::Set(lease) => lease,
                PutLease::Keep => previous.map_or(LeaseId::NONE, |kv| kv.lease),
            },
        }
    }

    pub(crate) fn delete_range(&mut self, delete: &DeleteRange) -> DeleteRangeResponse {
        let records = self.machine.index.range(&delete.keys);
        let live: Vec<_> = records.filter_map(Record::live).cloned().collect();
        for kv in &live {
            self.delete(&kv.key);
        }
        DeleteRangeResponse {
            revision: self.revision_so_far(),
            deleted: live.len(),
            previous: match delete.previous {
                Previous::Return => live,
                Previous::Omit => Vec::new(),
            },
        }
    }

    /// Deletes one key, if it exists.
    pub(crate) fn delete(&mut self, key: &Bytes) {
        let Ok(place) = self.machine.index.find(key) else {
            return;
        };
        let Some(previous) = self.machine.index.record(place).live().cloned() else {
            return;
        };
        let key = previous.key.clone();
        let kv = Arc::new(KeyValue::tombstone(key, self.revision, self.changes));
        self.machine
            .leases
            .transfer(&kv.key, previous.lease, LeaseId::NONE);
        self.machine.history.push(Change {
            kv: kv.clone(),
            previous: Some(previous),
        });
        self.machine.index.change(place, |record| record.push(kv));
        self.changes += 1;
    }
}
