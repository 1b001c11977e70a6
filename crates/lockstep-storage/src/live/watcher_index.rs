//! Index of watched key ranges, to find the watchers of a key without testing every range.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use lockstep_mvcc::KeyRange;

use super::watchers::WatcherId;

/// Ranges in a block before it is split.
const BLOCK_MAX: usize = 64;

/// Watchers by key and by range.
///
/// Single keys are in a hash map. Ranges are in sorted blocks, each with the greatest end of its ranges, so that a
/// lookup skips blocks that end before the key.
#[derive(Default)]
pub(super) struct WatcherIndex {
    single: HashMap<Bytes, BTreeSet<WatcherId>>,
    /// Ascending; none is empty.
    blocks: Vec<Block>,
}

/// A run of neighbouring ranges.
struct Block {
    /// Ascending by start and end; never empty.
    ranges: Vec<WatchedRange>,
    /// The greatest end among the ranges.
    furthest: End,
}

/// A range and its watchers.
struct WatchedRange {
    start: Bytes,
    end: End,
    watchers: BTreeSet<WatcherId>,
}

/// Exclusive end of a range.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum End {
    At(Bytes),
    /// The range is unbounded.
    Open,
}

impl End {
    fn is_behind(&self, key: &[u8]) -> bool {
        match self {
            Self::At(end) => key < end,
            Self::Open => true,
        }
    }
}

impl WatcherIndex {
    pub(super) fn add(&mut self, keys: &KeyRange, id: WatcherId) {
        if let Some(key) = keys.as_single() {
            self.single.entry(key.clone()).or_default().insert(id);
            return;
        }
        let (start, end) = bounds(keys);
        let Some(at) = self.block_of(&start, &end) else {
            self.blocks
                .push(Block::of(vec![WatchedRange::new(start, end, id)]));
            return;
        };
        let block = &mut self.blocks[at];
        match block.find(&start, &end) {
            Ok(slot) => {
                block.ranges[slot].watchers.insert(id);
            }
            Err(slot) => {
                block.furthest = block.furthest.clone().max(end.clone());
                block.ranges.insert(slot, WatchedRange::new(start, end, id));
            }
        }
        if block.ranges.len() > BLOCK_MAX {
            let second = block.ranges.split_off(BLOCK_MAX / 2);
            let first = std::mem::take(&mut block.ranges);
            self.blocks
                .splice(at..=at, [Block::of(first), Block::of(second)]);
        }
    }

    pub(super) fn remove(&mut self, keys: &KeyRange, id: WatcherId) {
        if let Some(key) = keys.as_single() {
            if let Some(watchers) = self.single.get_mut(key) {
                watchers.remove(&id);
                if watchers.is_empty() {
                    self.single.remove(key);
                }
            }
            return;
        }
        let (start, end) = bounds(keys);
        let Some(at) = self.block_of(&start, &end) else {
            return;
        };
        let block = &mut self.blocks[at];
        let Ok(slot) = block.find(&start, &end) else {
            return;
        };
        block.ranges[slot].watchers.remove(&id);
        if block.ranges[slot].watchers.is_empty() {
            block.ranges.remove(slot);
            if block.ranges.is_empty() {
                self.blocks.remove(at);
            } else {
                let ranges = std::mem::take(&mut block.ranges);
                *block = Block::of(ranges);
            }
        }
    }

    /// Watchers whose range contains the key, each once.
    pub(super) fn watchers_of(&self, key: &[u8]) -> impl Iterator<Item = WatcherId> {
        let single = self.single.get(key).into_iter().flatten().copied();
        let reached = self
            .blocks
            .partition_point(|block| *block.first().start <= *key);
        let blocks = self.blocks[..reached].iter();
        let ranges = blocks
            .filter(move |block| block.furthest.is_behind(key))
            .flat_map(|block| &block.ranges)
            .filter(move |watched| *watched.start <= *key && watched.end.is_behind(key));
        single.chain(ranges.flat_map(|watched| watched.watchers.iter().copied()))
    }

    /// Index of the block that contains the range or would contain it; `None` if there are no blocks.
    fn block_of(&self, start: &Bytes, end: &End) -> Option<usize> {
        let behind = self.blocks.partition_point(|block| {
            let first = block.first();
            (&first.start, &first.end) <= (start, end)
        });
        (!self.blocks.is_empty()).then(|| behind.saturating_sub(1))
    }
}

impl Block {
    fn of(ranges: Vec<WatchedRange>) -> Self {
        let furthest = ranges.iter().map(|watched| &watched.end).max();
        let furthest = furthest.expect("a block is never empty").clone();
        Self { ranges, furthest }
    }

    fn first(&self) -> &WatchedRange {
        self.ranges.first().expect("a block is never empty")
    }

    fn find(&self, start: &Bytes, end: &End) -> Result<usize, usize> {
        let wanted = (start, end);
        self.ranges
            .binary_search_by(|watched| (&watched.start, &watched.end).cmp(&wanted))
    }
}

impl WatchedRange {
    fn new(start: Bytes, end: End, id: WatcherId) -> Self {
        let watchers = BTreeSet::from([id]);
        Self {
            start,
            end,
            watchers,
        }
    }
}

fn bounds(keys: &KeyRange) -> (Bytes, End) {
    let end = keys.end().map_or(End::Open, |end| End::At(end.clone()));
    (keys.start().clone(), end)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Single keys, prefixes and ranges over few keys, so that they overlap and nest.
    fn range(nth: u64) -> KeyRange {
        let key = |number: u64| Bytes::from(format!("k{:02}", number % 40));
        match nth % 5 {
            0 => KeyRange::single(lockstep_mvcc::Key::new(key(nth / 5)).unwrap()),
            1 => KeyRange::prefix(format!("k{}", nth / 5 % 4)),
            2 => KeyRange::all(),
            _ => KeyRange::between(key(nth / 7), key(nth / 3)),
        }
    }

    fn check(index: &WatcherIndex, model: &BTreeMap<WatcherId, KeyRange>) {
        for number in 0..45 {
            for key in [format!("k{number:02}"), format!("k{number:02}x")] {
                let mut found: Vec<_> = index.watchers_of(key.as_bytes()).collect();
                found.sort_unstable();
                let watching = model
                    .iter()
                    .filter(|(_, keys)| keys.contains(key.as_bytes()));
                let expected: Vec<_> = watching.map(|(id, _)| *id).collect();
                assert_eq!(found, expected, "{key}");
            }
        }
    }

    #[test]
    fn those_are_found_whose_range_holds_the_key_while_watchers_come_and_go() {
        const STEP: u64 = 7919;
        const WATCHERS: u64 = 2000;
        let (mut index, mut model) = (WatcherIndex::default(), BTreeMap::new());
        let ids = (0..WATCHERS).map(|nth| WatcherId(usize::try_from(nth).unwrap()));
        for (nth, id) in (0..WATCHERS).zip(ids) {
            let keys = range(nth * STEP % 10_007);
            index.add(&keys, id);
            model.insert(id, keys);
            if nth % 400 == 0 {
                check(&index, &model);
            }
        }
        check(&index, &model);
        assert!(index.blocks.len() > 3, "blocks are cut");
        let mut gone = 0;
        while let Some((id, keys)) = model.pop_first() {
            index.remove(&keys, id);
            gone += 1;
            if gone % 400 == 0 {
                check(&index, &model);
            }
        }
        assert!(index.blocks.is_empty() && index.single.is_empty());
        check(&index, &model);
    }
}
