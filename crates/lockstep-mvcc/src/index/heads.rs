//! Key heads: prefix compression that keeps binary searches inside one array.
//!
//! Neighbouring keys share a prefix, and each key is a separate allocation, so comparing whole keys during a search
//! costs a cache miss per step. A chunk therefore stores the shared prefix once, and the next sixteen bytes of each
//! key in one array; whole keys are compared only where these are equal.

use std::cmp::Ordering;
use std::ops::Range;

use bytes::Bytes;

/// The shared prefix of sorted keys, and the sixteen bytes after it of each key.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads {
    /// INVARIANT: every key begins with it.
    prefix: Bytes,
    /// INVARIANT: ascending, since big-endian numbers and zeros for missing bytes keep the order
    /// of keys.
    heads: Vec<u128>,
}

impl Heads {
    /// The heads of sorted keys.
    pub(super) fn new<'k>(keys: impl DoubleEndedIterator<Item = &'k Bytes> + Clone) -> Self {
        let ends = keys.clone().next().zip(keys.clone().next_back());
        let prefix = ends.map_or(Bytes::new(), |(first, last)| {
            first.slice(..shared(first, last))
        });
        let heads = keys.map(|key| head(key, prefix.len())).collect();
        Self { prefix, heads }
    }

    /// Positions of keys that may equal `key`. All keys before are less, all after are greater.
    pub(super) fn candidates(&self, key: &[u8]) -> Range<usize> {
        let beginning = &key[..key.len().min(self.prefix.len())];
        match beginning.cmp(&self.prefix) {
            Ordering::Less => 0..0,
            Ordering::Greater => self.heads.len()..self.heads.len(),
            Ordering::Equal => {
                let head = head(key, self.prefix.len());
                let start = self.heads.partition_point(|other| *other < head);
                let equal = self.heads[start..]
                    .iter()
                    .take_while(|other| **other == head);
                start..start + equal.count()
            }
        }
    }

    /// Inserts a key; returns false and changes nothing if it lacks the shared prefix.
    pub(super) fn insert(&mut self, place: usize, key: &[u8]) -> bool {
        let begins_alike = key.starts_with(&self.prefix);
        if begins_alike {
            self.heads.insert(place, head(key, self.prefix.len()));
        }
        begins_alike
    }

    pub(super) fn remove(&mut self, place: usize) {
        self.heads.remove(place);
    }
}

/// Length of the common prefix of two keys.
fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(one, other)| one == other)
        .count()
}

fn head(key: &[u8], from: usize) -> u128 {
    let rest = key.get(from..).unwrap_or_default();
    if let Some(head) = rest.first_chunk() {
        return u128::from_be_bytes(*head);
    }
    let mut head = [0; 16];
    head[..rest.len()].copy_from_slice(rest);
    u128::from_be_bytes(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_part_what_is_less_from_what_is_greater() {
        let mut keys: Vec<Bytes> = Vec::new();
        for stem in [
            "/a/b",
            "/a/b/",
            "/a/b/1234567812345678",
            "/a/b/123456781234567",
            "/a/c",
            "/a",
        ] {
            for tail in ["", "\0", "\0\0", "1", "zzzzzzzzzz"] {
                keys.push(format!("{stem}{tail}").into());
            }
        }
        keys.sort();
        let probes = keys.clone();
        for first in 0..keys.len() {
            for end in first + 1..keys.len() {
                let some = &keys[first..end];
                let heads = Heads::new(some.iter());
                for key in &probes {
                    let candidates = heads.candidates(key);
                    assert!(some[..candidates.start].iter().all(|other| other < key));
                    assert!(some[candidates.end..].iter().all(|other| other > key));
                }
            }
        }
    }
}
