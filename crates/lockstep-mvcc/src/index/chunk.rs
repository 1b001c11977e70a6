//! A sorted run of records.

use bytes::Bytes;

use super::Record;
use super::heads::Heads;

/// Maximum records of a chunk: few enough that an insert moves little memory, enough that there are few chunks. 64
/// to 256 measure alike.
pub(crate) const CHUNK_MAX: usize = 128;

/// Neighbouring records in key order, with the number of live ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    records: Vec<Record>,
    /// Key prefixes of `records`.
    heads: Heads,
    live: usize,
}

impl Chunk {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn live(&self) -> usize {
        self.live
    }

    pub(super) fn find(&self, key: &[u8]) -> Result<usize, usize> {
        let candidates = self.heads.candidates(key);
        let first = candidates.start;
        let found =
            self.records[candidates].binary_search_by(|record| record.key().as_ref().cmp(key));
        found.map(|at| first + at).map_err(|at| first + at)
    }

    pub(super) fn record(&self, slot: usize) -> &Record {
        &self.records[slot]
    }

    pub(super) fn records(&self, first: usize, end: usize) -> &[Record] {
        &self.records[first..end]
    }

    pub(super) fn first_key(&self) -> Bytes {
        self.records
            .first()
            .map(|record| record.key().clone())
            .expect("a chunk that was split off holds records")
    }

    /// Modifies a record; returns the change in the number of live records.
    pub(super) fn change(&mut self, slot: usize, change: impl FnOnce(&mut Record)) -> isize {
        let record = &mut self.records[slot];
        let before = isize::from(record.is_live());
        change(record);
        let delta = isize::from(record.is_live()) - before;
        self.live = self.live.saturating_add_signed(delta);
        delta
    }

    pub(super) fn insert(&mut self, slot: usize, record: Record) {
        self.live += usize::from(record.is_live());
        let begins_alike = self.heads.insert(slot, record.key());
        self.records.insert(slot, record);
        if !begins_alike || self.records.len() == 1 {
            self.rebuild_heads();
        }
    }

    pub(super) fn remove(&mut self, slot: usize) -> Record {
        let record = self.records.remove(slot);
        self.heads.remove(slot);
        self.live -= usize::from(record.is_live());
        record
    }

    pub(super) fn count_live(&self, first: usize, end: usize) -> usize {
        if self.live == self.records.len() {
            return end - first;
        }
        let live = self.records[first..end].iter();
        live.filter(|record| record.is_live()).count()
    }

    /// Splits off the right half, or only the last record if keys are appended in order.
    pub(super) fn split(&mut self, appending: bool) -> Self {
        let at = if appending {
            self.records.len() - 1
        } else {
            self.records.len() / 2
        };
        let mut right = Self::default();
        right.records.reserve_exact(CHUNK_MAX + 1);
        right.records.extend(self.records.drain(at..));
        right.live = right.count();
        self.live -= right.live;
        right.rebuild_heads();
        self.rebuild_heads();
        right
    }

    pub(super) fn append(&mut self, right: Self) {
        self.live += right.live;
        self.records.extend(right.records);
        self.rebuild_heads();
    }

    fn rebuild_heads(&mut self) {
        self.heads = Heads::new(self.records.iter().map(Record::key));
    }

    fn count(&self) -> usize {
        self.records
            .iter()
            .filter(|record| record.is_live())
            .count()
    }
}
