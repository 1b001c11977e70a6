//! Ordered index of keys, with counts.
//!
//! A sorted list of chunks, each a sorted list of at most [`CHUNK_MAX`] records. Finding a key is
//! one binary search over the chunks' lower bounds and one inside a chunk; walking a range reads
//! neighbouring memory; counting the live keys of a range adds up per-chunk counts through a
//! [`Counts`] tree and looks into at most two chunks.

mod chunk;
mod counts;
mod heads;
mod record;

use bytes::Bytes;

use crate::{KeyRange, KeyValue, Revision};
pub(crate) use chunk::CHUNK_MAX;
use chunk::Chunk;
use counts::Counts;
use heads::Heads;
pub(crate) use record::Record;

/// Every key with a retained version, in key order.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    /// INVARIANT: never empty; as long as `chunks`; ascending; the first bound is the empty key;
    /// all keys of chunk `i` are at least bound `i` and less than bound `i + 1`.
    bounds: Vec<Bytes>,
    /// Heads of all bounds but the first, which is empty and would make the shared prefix empty.
    heads: Heads,
    chunks: Vec<Chunk>,
    /// Live keys by chunk.
    counts: Counts,
}

/// Position of a record: chunk and slot. Any modification of the index invalidates it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    chunk: usize,
    slot: usize,
}

impl Default for Index {
    fn default() -> Self {
        Self {
            bounds: vec![Bytes::new()],
            heads: Heads::default(),
            chunks: vec![Chunk::default()],
            counts: Counts::new([0]),
        }
    }
}

impl Index {
    /// The position of `key`, or the position to insert it at.
    pub(crate) fn find(&self, key: &[u8]) -> Result<Place, Place> {
        let chunk = self.chunk_of(key);
        match self.chunks[chunk].find(key) {
            Ok(slot) => Ok(Place { chunk, slot }),
            Err(slot) => Err(Place { chunk, slot }),
        }
    }

    /// The chunk that holds `key` if any does.
    fn chunk_of(&self, key: &[u8]) -> usize {
        let candidates = self.heads.candidates(key);
        let behind_first = &self.bounds[1..];
        let reached = behind_first[candidates.clone()].partition_point(|bound| bound <= key);
        candidates.start + reached
    }

    /// The record at a place that [`Index::find`] found.
    pub(crate) fn record(&self, place: Place) -> &Record {
        self.chunks[place.chunk].record(place.slot)
    }

    /// The record of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&Record> {
        self.find(key).ok().map(|place| self.record(place))
    }

    /// Modifies a record and updates the counts.
    pub(crate) fn change(&mut self, place: Place, change: impl FnOnce(&mut Record)) {
        let delta = self.chunks[place.chunk].change(place.slot, change);
        self.counts.add(place.chunk, delta);
    }

    /// Inserts a record at the position that [`Index::find`] returned as an error.
    pub(crate) fn insert(&mut self, place: Place, record: Record) {
        let live = isize::from(record.is_live());
        self.chunks[place.chunk].insert(place.slot, record);
        self.counts.add(place.chunk, live);
        if self.chunks[place.chunk].len() > CHUNK_MAX {
            self.split(place.chunk);
        }
    }

    /// Removes a record.
    pub(crate) fn remove(&mut self, place: Place) {
        let removed = self.chunks[place.chunk].remove(place.slot);
        self.counts
            .add(place.chunk, -isize::from(removed.is_live()));
        self.shrink(place.chunk);
    }

    /// Records of a range in key order, including those of deleted keys.
    pub(crate) fn range(
        &self,
        keys: &KeyRange,
    ) -> impl DoubleEndedIterator<Item = &Record> + use<'_> {
        let (from, to) = self.places(keys);
        self.chunks[from.chunk..=to.chunk]
            .iter()
            .enumerate()
            .flat_map(move |(nth, chunk)| {
                let first = if nth == 0 { from.slot } else { 0 };
                let is_last = from.chunk + nth == to.chunk;
                let end = if is_last { to.slot } else { chunk.len() };
                chunk.records(first, end).iter()
            })
    }

    /// Number of live keys in a range.
    pub(crate) fn count_live(&self, keys: &KeyRange) -> usize {
        let (from, to) = self.places(keys);
        if from.chunk == to.chunk {
            return self.chunks[from.chunk].count_live(from.slot, to.slot);
        }
        let first = &self.chunks[from.chunk];
        first.count_live(from.slot, first.len())
            + self.counts.between(from.chunk + 1, to.chunk)
            + self.chunks[to.chunk].count_live(0, to.slot)
    }

    /// Upper bound of the number of records in a range, without visiting them.
    pub(crate) fn span(&self, keys: &KeyRange) -> usize {
        let (from, to) = self.places(keys);
        (to.chunk - from.chunk + 1) * CHUNK_MAX
    }

    /// Positions of the first record in a range and of the first one after it.
    fn places(&self, keys: &KeyRange) -> (Place, Place) {
        if keys.is_empty() {
            let start = Place { chunk: 0, slot: 0 };
            return (start, start);
        }
        let place = |found: Result<Place, Place>| found.unwrap_or_else(|place| place);
        if let Some(key) = keys.as_single() {
            let found = self.find(key);
            let from = place(found);
            let slot = from.slot + usize::from(found.is_ok());
            return (from, Place { slot, ..from });
        }
        let from = place(self.find(keys.start()));
        let to = keys
            .end()
            .map_or_else(|| self.end(), |end| place(self.find(end)));
        (from, to)
    }

    fn end(&self) -> Place {
        let chunk = self.chunks.len() - 1;
        let slot = self.chunks[chunk].len();
        Place { chunk, slot }
    }

    fn split(&mut self, chunk: usize) {
        let is_last = chunk + 1 == self.chunks.len();
        let right = self.chunks[chunk].split(is_last);
        let bound = right.first_key();
        let begins_alike = self.heads.insert(chunk, &bound);
        self.bounds.insert(chunk + 1, bound);
        if !begins_alike || self.bounds.len() == 2 {
            self.heads = Heads::new(self.bounds[1..].iter());
        }
        self.chunks.insert(chunk + 1, right);
        self.recount();
    }

    /// Merges a small chunk with a neighbour.
    fn shrink(&mut self, chunk: usize) {
        let left = if chunk + 1 < self.chunks.len() {
            chunk
        } else {
            chunk.saturating_sub(1)
        };
        if left + 1 >= self.chunks.len() {
            return;
        }
        let together = self.chunks[left].len() + self.chunks[left + 1].len();
        if self.chunks[chunk].len() < CHUNK_MAX / 8 && together <= CHUNK_MAX / 2 {
            let right = self.chunks.remove(left + 1);
            self.bounds.remove(left + 1);
            self.heads.remove(left);
            self.chunks[left].append(right);
            self.recount();
        }
    }

    fn recount(&mut self) {
        self.counts = Counts::new(self.chunks.iter().map(Chunk::live));
    }

    /// Removes versions of a key that a compaction made unreachable, and reports them.
    pub(crate) fn prune(
        &mut self,
        key: &[u8],
        compacted: Revision,
        dropped: &mut impl FnMut(&KeyValue),
    ) {
        let Ok(place) = self.find(key) else { return };
        if self.record(place).is_dead_at(compacted) {
            self.record(place).versions().for_each(dropped);
            self.remove(place);
        } else {
            self.change(place, |record| record.prune(compacted, dropped));
        }
    }
}

#[cfg(test)]
mod tests;
