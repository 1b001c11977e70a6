//! Evaluation of a transaction before it changes anything: which branches run, and whether they can.

use std::cmp::Ordering;

use crate::index::Record;
use crate::{
    Compare, Comparison, KeyValue, Machine, Op, OpResponse, Predicate, Put, PutLease, PutValue,
    ReadError, ReadTxn, Txn, TxnResponse, WriteError,
};

/// The branch that a transaction takes, with those of the transactions nested in that branch.
pub(crate) struct Path {
    pub(crate) succeeded: bool,
    pub(crate) nested: Vec<Path>,
}

impl Path {
    fn ops<'t>(&self, txn: &'t Txn) -> &'t [Op] {
        if self.succeeded {
            &txn.success
        } else {
            &txn.failure
        }
    }
}

impl Machine {
    /// Runs a read-only transaction.
    pub fn read_txn(&self, txn: ReadTxn<'_>) -> Result<TxnResponse, ReadError> {
        self.read_path(txn.txn(), &self.path(txn.txn()))
    }

    fn read_path(&self, txn: &Txn, path: &Path) -> Result<TxnResponse, ReadError> {
        let mut nested = path.nested.iter();
        let mut responses = Vec::new();
        for op in path.ops(txn) {
            match op {
                Op::Range(range) => responses.push(OpResponse::Range(self.range(range)?)),
                Op::Txn(txn) => {
                    let path = nested
                        .next()
                        .expect("a path was decided for each nested transaction");
                    responses.push(OpResponse::Txn(self.read_path(txn, path)?));
                }
                Op::Put(_) | Op::DeleteRange(_) => {}
            }
        }
        Ok(TxnResponse {
            revision: self.revision,
            succeeded: path.succeeded,
            responses,
        })
    }

    /// Evaluates all compares on the committed state.
    pub(crate) fn path(&self, txn: &Txn) -> Path {
        let succeeded = txn.compares.iter().all(|compare| self.holds(compare));
        let mut path = Path {
            succeeded,
            nested: Vec::new(),
        };
        for op in path.ops(txn) {
            if let Op::Txn(nested) = op {
                path.nested.push(self.path(nested));
            }
        }
        path
    }

    fn holds(&self, compare: &Compare) -> bool {
        let records = self.index.range(&compare.keys);
        let mut live = records.filter_map(Record::live).peekable();
        if live.peek().is_none() {
            let about_value = matches!(compare.predicate, Predicate::Value(_));
            return !about_value && compare.holds_for(&KeyValue::default());
        }
        live.all(|kv| compare.holds_for(kv))
    }

    /// Checks every operation of the chosen branches, so that none fails after another was applied.
    pub(crate) fn check(&self, txn: &Txn, path: &Path) -> Result<(), WriteError> {
        let mut nested = path.nested.iter();
        for op in path.ops(txn) {
            match op {
                Op::Range(range) => self.check_revision(range.at)?,
                Op::Put(put) => self.check_put(put)?,
                Op::DeleteRange(_) => {}
                Op::Txn(txn) => {
                    let path = nested
                        .next()
                        .expect("a path was decided for each nested transaction");
                    self.check(txn, path)?;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn check_put(&self, put: &Put) -> Result<(), WriteError> {
        if put.value == PutValue::Keep || put.lease == PutLease::Keep {
            let record = self.index.get(put.key.bytes());
            if record.and_then(Record::live).is_none() {
                return Err(WriteError::KeyNotFound);
            }
        }
        match put.lease {
            PutLease::Set(lease) => self.leases.allow(lease),
            PutLease::Keep => Ok(()),
        }
    }
}

impl Compare {
    fn holds_for(&self, kv: &KeyValue) -> bool {
        let ordering = match &self.predicate {
            Predicate::Version(given) => ordered(kv.version, *given),
            Predicate::CreateRevision(given) => ordered(kv.create_revision.0, *given),
            Predicate::ModRevision(given) => ordered(kv.mod_revision.0, *given),
            Predicate::Value(given) => kv.value.cmp(given),
            Predicate::Lease(given) => kv.lease.cmp(given),
        };
        match self.comparison {
            Comparison::Equal => ordering.is_eq(),
            Comparison::NotEqual => ordering.is_ne(),
            Comparison::Greater => ordering.is_gt(),
            Comparison::Less => ordering.is_lt(),
        }
    }
}

/// Compares a stored number, never negative, with a given one, which may be.
fn ordered(stored: u64, given: i64) -> Ordering {
    u64::try_from(given).map_or(Ordering::Greater, |given| stored.cmp(&given))
}
