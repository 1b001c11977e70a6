//! Canonical encoding of a machine: equal states have equal bytes, and decoding restores the state.
//!
//! All numbers are little-endian. The bytes are
//!
//! ```text
//! magic      8 bytes   "lockmvcc"
//! format     u32       1
//! revision   u64
//! compacted  u64
//! entries, each a tag byte and its fields:
//!   'l' lease   id i64, TTL in seconds i64            by id
//!   'a' alarm   member u64, kind u8                   by member and kind
//!   'k' pair    what was there before `compacted`     by key
//!   'c' pair    each change from `compacted` on       by revision and sub-revision
//!   '.'         the end
//! checksum   32 bytes  SHA-256 of all bytes before
//!
//! a pair is: key length u32, key, value length u32, value, create_revision u64, mod_revision u64,
//!            sub_revision u32, version u64 (0 is a tombstone), lease i64
//! ```
//!
//! Versions that only a sweep would free are not encoded, so the bytes do not depend on when a member sweeps.

mod read;

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

pub use read::DecodeError;

use crate::reader::Reader;
use crate::{KeyValue, Machine, Malformed, Revision};

pub(crate) const MAGIC: &[u8; 8] = b"lockmvcc";
pub(crate) const FORMAT: u32 = 1;
pub(crate) const CHECKSUM_BYTES: usize = 32;
pub(crate) const TAG_LEASE: u8 = b'l';
pub(crate) const TAG_ALARM: u8 = b'a';
pub(crate) const TAG_KEPT: u8 = b'k';
pub(crate) const TAG_CHANGE: u8 = b'c';
pub(crate) const TAG_END: u8 = b'.';

/// A digest of a state. Equal states have equal digests.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateHash(pub [u8; CHECKSUM_BYTES]);

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateHash({self})")
    }
}

impl Machine {
    /// Writes the canonical encoding to `sink` in chunks.
    pub fn encode_to(&self, mut sink: impl FnMut(&[u8])) {
        let mut hasher = Sha256::new();
        let mut both = |bytes: &[u8]| {
            hasher.update(bytes);
            sink(bytes);
        };
        both(MAGIC);
        both(&FORMAT.to_le_bytes());
        both(&self.revision.0.to_le_bytes());
        both(&self.compacted.0.to_le_bytes());
        for (id, lease) in self.leases.iter() {
            both(&[TAG_LEASE]);
            both(&id.0.to_le_bytes());
            both(&lease.ttl_seconds().to_le_bytes());
        }
        for alarm in self.alarms.iter() {
            both(&[TAG_ALARM]);
            both(&alarm.member.0.to_le_bytes());
            both(&[alarm.kind.number()]);
        }
        self.encode_pairs(self.revision, &mut both);
        both(&[TAG_END]);
        sink(&hasher.finalize());
    }

    /// The canonical encoding.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_to(|piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// Hash of the keys and their retained history up to a revision.
    ///
    /// Members at the same compacted revision agree on it for any revision both hold, even if one of them is ahead.
    pub fn hash_at(&self, revision: Revision) -> StateHash {
        let mut hasher = Sha256::new();
        hasher.update(self.compacted.0.to_le_bytes());
        self.encode_pairs(revision, &mut |bytes| hasher.update(bytes));
        StateHash(hasher.finalize().into())
    }

    fn encode_pairs(&self, up_to: Revision, sink: &mut impl FnMut(&[u8])) {
        for kv in self.before_compacted() {
            sink(&[TAG_KEPT]);
            encode_pair(kv, sink);
        }
        let changes = self.since_compacted();
        for kv in changes.take_while(|kv| kv.mod_revision <= up_to) {
            sink(&[TAG_CHANGE]);
            encode_pair(kv, sink);
        }
    }

    /// Every retained version: those older than the compacted revision by key, then every change since.
    pub fn retained_versions(&self) -> impl Iterator<Item = &Arc<KeyValue>> {
        self.before_compacted().chain(self.since_compacted())
    }

    fn before_compacted(&self) -> impl Iterator<Item = &Arc<KeyValue>> {
        let compacted = self.compacted;
        let records = self.index.range(&crate::KeyRange::all());
        let live = records.filter_map(move |record| record.live_at(compacted));
        live.filter(move |kv| kv.mod_revision < compacted)
    }

    fn since_compacted(&self) -> impl Iterator<Item = &Arc<KeyValue>> {
        let changes = self.history.since(self.compacted);
        changes.map(|change| &change.kv)
    }
}

impl KeyValue {
    /// Appends the canonical encoding of the version.
    pub fn encode(&self, out: &mut Vec<u8>) {
        encode_pair(self, &mut |bytes| out.extend_from_slice(bytes));
    }

    /// Decodes [`KeyValue::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes, 0);
        let kv = reader.pair()?;
        reader.finish()?;
        Ok(kv)
    }
}

fn encode_pair(kv: &KeyValue, sink: &mut impl FnMut(&[u8])) {
    for bytes in [&kv.key, &kv.value] {
        let length = u32::try_from(bytes.len()).expect("requests are smaller than 4 GiB");
        sink(&length.to_le_bytes());
        sink(bytes);
    }
    sink(&kv.create_revision.0.to_le_bytes());
    sink(&kv.mod_revision.0.to_le_bytes());
    sink(&kv.sub_revision.to_le_bytes());
    sink(&kv.version.to_le_bytes());
    sink(&kv.lease.0.to_le_bytes());
}

#[cfg(test)]
mod tests;
