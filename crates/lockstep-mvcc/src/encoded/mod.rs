//! Binary encoding of commands, for the write-ahead log.
//!
//! A tag byte and the fields in the order of their declaration. Numbers are little-endian; a key, a value or a list
//! begins with its length as u32. The encoding has no version field: the containing file has one.
//!
//! ```text
//! command   'p' put · 'd' delete · 't' txn · 'c' revision u64 · 'g' id i64, ttl i64 · 'r' id i64
//!           'a' raised (0|1), member u64, kind u8
//! put       key, value ('=' value | 'k'), lease ('=' id i64 | 'k'), previous (0|1)
//! delete    keys, previous (0|1)
//! keys      key, range_end                                              as requests spell them
//! txn       compares, success ops, failure ops                          each a list
//! compare   keys, comparison u8, predicate u8, given (i64 | value)
//! op        'r' range · 'p' put · 'd' delete · 't' txn
//! range     keys, at (0|1) u64, limit u64, sort, content u8, mod min max u64, create min max u64
//! sort      0 | 1 target u8 | 2 target u8                               1 ascends, 2 descends
//! ```

mod read;

use crate::{
    Command, Compare, Comparison, Content, DeleteRange, KeyRange, Op, Predicate, Previous, Put,
    PutLease, PutValue, Range, Sort, SortOrder, SortTarget, Txn,
};

pub(super) const COMPARISONS: [Comparison; 4] = [
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::Greater,
    Comparison::Less,
];
pub(super) const CONTENTS: [Content; 3] = [Content::Full, Content::KeysOnly, Content::CountOnly];
pub(super) const TARGETS: [SortTarget; 5] = [
    SortTarget::Key,
    SortTarget::Version,
    SortTarget::CreateRevision,
    SortTarget::ModRevision,
    SortTarget::Value,
];
pub(super) const PREVIOUS: [Previous; 2] = [Previous::Omit, Previous::Return];

impl Command {
    /// Appends the command's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut writer = Writer(out);
        match self {
            Self::Put(put) => {
                writer.byte(b'p');
                writer.put(put);
            }
            Self::DeleteRange(delete) => {
                writer.byte(b'd');
                writer.delete(delete);
            }
            Self::Txn(txn) => {
                writer.byte(b't');
                writer.txn(txn.txn());
            }
            Self::Compact { at } => {
                writer.byte(b'c');
                writer.number(at.0);
            }
            Self::LeaseGrant { id, ttl_seconds } => {
                writer.byte(b'g');
                writer.signed(id.0);
                writer.signed(*ttl_seconds);
            }
            Self::LeaseRevoke { id } => {
                writer.byte(b'r');
                writer.signed(id.0);
            }
            Self::Alarm { alarm, is_raised } => {
                writer.byte(b'a');
                writer.byte(u8::from(*is_raised));
                writer.number(alarm.member.0);
                writer.byte(alarm.kind.number());
            }
        }
    }
}

struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn signed(&mut self, number: i64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn length(&mut self, length: usize) {
        let length = u32::try_from(length).expect("requests are smaller than 4 GiB");
        self.0.extend_from_slice(&length.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// Writes the index of a value in the list of its type's values.
    fn choice<T: PartialEq>(&mut self, all: &[T], chosen: &T) {
        let place = all.iter().position(|one| one == chosen);
        let place = place.and_then(|place| u8::try_from(place).ok());
        self.byte(place.expect("the list has every value of the type"));
    }

    fn keys(&mut self, keys: &KeyRange) {
        let (key, range_end) = keys.to_wire();
        self.bytes(&key);
        self.bytes(&range_end);
    }

    fn put(&mut self, put: &Put) {
        self.bytes(put.key.bytes());
        match &put.value {
            PutValue::Set(value) => {
                self.byte(b'=');
                self.bytes(value);
            }
            PutValue::Keep => self.byte(b'k'),
        }
        match put.lease {
            PutLease::Set(lease) => {
                self.byte(b'=');
                self.signed(lease.0);
            }
            PutLease::Keep => self.byte(b'k'),
        }
        self.choice(&PREVIOUS, &put.previous);
    }

    fn delete(&mut self, delete: &DeleteRange) {
        self.keys(&delete.keys);
        self.choice(&PREVIOUS, &delete.previous);
    }

    fn txn(&mut self, txn: &Txn) {
        self.length(txn.compares.len());
        for compare in &txn.compares {
            self.compare(compare);
        }
        for ops in [&txn.success, &txn.failure] {
            self.length(ops.len());
            for op in ops {
                self.op(op);
            }
        }
    }

    fn compare(&mut self, compare: &Compare) {
        self.keys(&compare.keys);
        self.choice(&COMPARISONS, &compare.comparison);
        match &compare.predicate {
            Predicate::Version(given) => self.predicate(b'v', *given),
            Predicate::CreateRevision(given) => self.predicate(b'c', *given),
            Predicate::ModRevision(given) => self.predicate(b'm', *given),
            Predicate::Lease(given) => self.predicate(b'l', given.0),
            Predicate::Value(given) => {
                self.byte(b'=');
                self.bytes(given);
            }
        }
    }

    fn predicate(&mut self, tag: u8, given: i64) {
        self.byte(tag);
        self.signed(given);
    }

    fn op(&mut self, op: &Op) {
        match op {
            Op::Range(range) => {
                self.byte(b'r');
                self.range(range);
            }
            Op::Put(put) => {
                self.byte(b'p');
                self.put(put);
            }
            Op::DeleteRange(delete) => {
                self.byte(b'd');
                self.delete(delete);
            }
            Op::Txn(txn) => {
                self.byte(b't');
                self.txn(txn);
            }
        }
    }

    fn range(&mut self, range: &Range) {
        self.keys(&range.keys);
        self.byte(u8::from(range.at.is_some()));
        self.number(range.at.unwrap_or_default().0);
        self.number(u64::try_from(range.limit).unwrap_or(u64::MAX));
        self.sort(range.sort);
        self.choice(&CONTENTS, &range.content);
        for bounds in [range.mod_revisions, range.create_revisions] {
            self.number(bounds.min.0);
            self.number(bounds.max.0);
        }
    }

    fn sort(&mut self, sort: Option<Sort>) {
        let Some(Sort { target, order }) = sort else {
            return self.byte(0);
        };
        self.byte(match order {
            SortOrder::Ascend => 1,
            SortOrder::Descend => 2,
        });
        self.choice(&TARGETS, &target);
    }
}

#[cfg(test)]
mod tests;
