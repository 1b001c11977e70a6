//! Detection of duplicate keys: one branch of a transaction must not modify a key twice.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use crate::{KeyRange, Op, RequestError};

/// Keys and ranges that a list of operations may write.
///
/// The two branches of a nested transaction exclude each other and may overlap; all other writes of a list may not,
/// regardless of order. Deletes may overlap deletes.
#[derive(Default)]
pub(crate) struct Footprint<'a> {
    puts: BTreeSet<&'a [u8]>,
    deletes: Intervals<'a>,
}

impl<'a> Footprint<'a> {
    pub(crate) fn of(ops: &'a [Op]) -> Result<Self, RequestError> {
        let mut whole = Self::default();
        for op in ops {
            whole.add(Self::of_one(op)?)?;
        }
        Ok(whole)
    }

    fn of_one(op: &'a Op) -> Result<Self, RequestError> {
        let mut one = Self::default();
        match op {
            Op::Range(_) => {}
            Op::Put(put) => {
                one.puts.insert(put.key.bytes());
            }
            Op::DeleteRange(delete) => one.deletes.insert(&delete.keys),
            Op::Txn(nested) => {
                one = Self::of(&nested.success)?;
                one.absorb(Self::of(&nested.failure)?);
            }
        }
        Ok(one)
    }

    fn add(&mut self, other: Self) -> Result<(), RequestError> {
        // Iterate over the smaller side, so that many operations do not cost quadratic time.
        let (small, large) = if self.size() < other.size() {
            (&*self, &other)
        } else {
            (&other, &*self)
        };
        let put_twice = small.puts.iter().any(|key| large.puts.contains(key));
        let put_deleted = small.puts.iter().any(|key| large.deletes.contain(key))
            || small.deletes.hold_any_of(&large.puts);
        if put_twice || put_deleted {
            return Err(RequestError::DuplicateKey);
        }
        self.absorb(other);
        Ok(())
    }

    fn absorb(&mut self, mut other: Self) {
        if self.size() < other.size() {
            std::mem::swap(self, &mut other);
        }
        self.puts.extend(other.puts);
        for (start, last) in other.deletes.0 {
            self.deletes.insert_bounds(start, last);
        }
    }

    fn size(&self) -> usize {
        self.puts.len() + self.deletes.0.len()
    }
}

/// End of an interval of keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last<'a> {
    Before(&'a [u8]),
    Including(&'a [u8]),
    Open,
}

impl Last<'_> {
    /// True if `key`, which is not less than the start, is in the interval.
    fn reaches(self, key: &[u8]) -> bool {
        match self {
            Self::Before(end) => key < end,
            Self::Including(last) => key <= last,
            Self::Open => true,
        }
    }

    fn furthest(self, other: Self) -> Self {
        let reaches_further = match other {
            Self::Before(end) => {
                matches!(self, Self::Before(mine) if mine < end)
                    || matches!(self, Self::Including(mine) if mine < end)
            }
            Self::Including(last) => !self.reaches(last),
            Self::Open => true,
        };
        if reaches_further { other } else { self }
    }
}

/// Disjoint intervals by their starts.
#[derive(Default)]
struct Intervals<'a>(BTreeMap<&'a [u8], Last<'a>>);

impl<'a> Intervals<'a> {
    fn insert(&mut self, keys: &'a KeyRange) {
        if keys.is_empty() {
            return;
        }
        let last = match (keys.as_single(), keys.end()) {
            (Some(key), _) => Last::Including(key),
            (None, Some(end)) => Last::Before(end),
            (None, None) => Last::Open,
        };
        self.insert_bounds(keys.start(), last);
    }

    /// Merges the new interval with those that it overlaps.
    fn insert_bounds(&mut self, mut start: &'a [u8], mut last: Last<'a>) {
        if let Some((before, end)) = self.at_or_before(start)
            && end.reaches(start)
        {
            (start, last) = (before, last.furthest(end));
        }
        while let Some((next, end)) = self.first_from(start)
            && last.reaches(next)
        {
            self.0.remove(next);
            last = last.furthest(end);
        }
        self.0.insert(start, last);
    }

    fn at_or_before(&self, key: &[u8]) -> Option<(&'a [u8], Last<'a>)> {
        let up_to = (Bound::Unbounded, Bound::Included(key));
        let found = self.0.range::<[u8], _>(up_to).next_back();
        found.map(|(start, last)| (*start, *last))
    }

    fn first_from(&self, key: &[u8]) -> Option<(&'a [u8], Last<'a>)> {
        let from = (Bound::Included(key), Bound::Unbounded);
        let found = self.0.range::<[u8], _>(from).next();
        found.map(|(start, last)| (*start, *last))
    }

    fn contain(&self, key: &[u8]) -> bool {
        let found = self.at_or_before(key);
        found.is_some_and(|(_, last)| last.reaches(key))
    }

    fn hold_any_of(&self, keys: &BTreeSet<&'a [u8]>) -> bool {
        self.0.iter().any(|(start, last)| {
            let from = (Bound::Included(*start), Bound::Unbounded);
            let first = keys.range::<[u8], _>(from).next();
            first.is_some_and(|key| last.reaches(key))
        })
    }
}
