//! Canonical bytes back to a machine.

use std::sync::Arc;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{CHECKSUM_BYTES, FORMAT, MAGIC, TAG_CHANGE, TAG_END, TAG_KEPT, TAG_LEASE};
use crate::history::Change;
use crate::index::Record;
use crate::{KeyValue, LeaseId, Machine, Revision};

/// Why bytes are not the state of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// They do not begin as one.
    #[error("not the state of a store")]
    NotAState,
    /// They were written by a version of this program that this one does not know.
    #[error("state format {found} is unknown, this program reads format {FORMAT}")]
    UnknownFormat {
        /// The format they claim.
        found: u32,
    },
    /// They are cut short or changed.
    #[error("the checksum of the state does not match")]
    Checksum,
    /// Their checksum matches and yet they break a rule of the format.
    #[error("malformed state at byte {offset}: {what}")]
    Malformed {
        /// Where.
        offset: usize,
        /// Which rule.
        what: &'static str,
    },
}

impl Machine {
    /// The machine whose canonical bytes these are.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::open(bytes)?;
        let mut machine = Self {
            revision: reader.revision()?,
            compacted: reader.revision()?,
            ..Self::default()
        };
        if machine.compacted > machine.revision || machine.revision < Revision::FIRST {
            return Err(reader.malformed("the revisions contradict each other"));
        }
        machine.swept = machine.compacted;
        let mut last = Last::default();
        loop {
            match reader.byte()? {
                TAG_LEASE => machine.restore_lease(&mut reader, &last)?,
                TAG_KEPT => machine.restore_kept(&mut reader, &mut last)?,
                TAG_CHANGE => machine.restore_change(&mut reader, &mut last)?,
                TAG_END => break,
                _ => return Err(reader.malformed("unknown entry")),
            }
        }
        if reader.offset < reader.body.len() {
            return Err(reader.malformed("bytes behind the end"));
        }
        Ok(machine)
    }

    fn restore_lease(&mut self, reader: &mut Reader<'_>, last: &Last) -> Result<(), DecodeError> {
        let id = LeaseId(i64::from_le_bytes(reader.array()?));
        let ttl_seconds = i64::from_le_bytes(reader.array()?);
        let in_order = self.leases.last_id() < Some(id) && last.is_first_pair();
        if !in_order || self.leases.grant(id, ttl_seconds).is_err() {
            return Err(reader.malformed("leases are not in order"));
        }
        Ok(())
    }

    fn restore_kept(
        &mut self,
        reader: &mut Reader<'_>,
        last: &mut Last,
    ) -> Result<(), DecodeError> {
        let kv = Arc::new(reader.pair()?);
        if kv.key <= last.key || last.change.is_some() {
            return Err(reader.malformed("keys are not in order"));
        }
        if kv.is_tombstone() || kv.mod_revision >= self.compacted {
            return Err(reader.malformed("a kept pair is not older than the compaction"));
        }
        last.key = kv.key.clone();
        self.restore(kv);
        Ok(())
    }

    fn restore_change(
        &mut self,
        reader: &mut Reader<'_>,
        last: &mut Last,
    ) -> Result<(), DecodeError> {
        let kv = Arc::new(reader.pair()?);
        let at = Some((kv.mod_revision, kv.sub_revision));
        if at <= last.change || kv.mod_revision < self.compacted || kv.mod_revision > self.revision
        {
            return Err(reader.malformed("changes are not in order"));
        }
        last.change = at;
        let record = self.index.get(&kv.key);
        let previous = record.and_then(Record::live).cloned();
        self.history.push(Change {
            kv: kv.clone(),
            previous: previous.filter(|_| kv.mod_revision > self.compacted),
        });
        self.restore(kv);
        Ok(())
    }

    /// Makes a version the newest of its key.
    fn restore(&mut self, kv: Arc<KeyValue>) {
        let found = self.index.find(&kv.key);
        let before = found.map(|place| self.index.record(place).latest().lease);
        self.leases
            .transfer(&kv.key, before.unwrap_or_default(), kv.lease);
        match found {
            Ok(place) => self.index.change(place, |record| record.push(kv)),
            // A delete at the compacted revision is only history.
            Err(_) if kv.is_tombstone() => {}
            Err(place) => self.index.insert(place, Record::new(kv)),
        }
    }
}

/// What the entries so far oblige the next one to.
#[derive(Default)]
struct Last {
    key: Bytes,
    change: Option<(Revision, u32)>,
}

impl Last {
    fn is_first_pair(&self) -> bool {
        self.key.is_empty() && self.change.is_none()
    }
}

struct Reader<'a> {
    /// Without the checksum.
    body: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Checks everything that can be checked before looking at entries.
    fn open(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(DecodeError::NotAState)?;
        let (format, _) = rest.split_first_chunk().ok_or(DecodeError::NotAState)?;
        let found = u32::from_le_bytes(*format);
        if found != FORMAT {
            return Err(DecodeError::UnknownFormat { found });
        }
        let split = bytes.split_last_chunk::<CHECKSUM_BYTES>();
        let (body, checksum) = split.ok_or(DecodeError::Checksum)?;
        if Sha256::digest(body).as_slice() != checksum {
            return Err(DecodeError::Checksum);
        }
        let offset = MAGIC.len() + size_of::<u32>();
        Ok(Self { body, offset })
    }

    fn malformed(&self, what: &'static str) -> DecodeError {
        let offset = self.offset;
        DecodeError::Malformed { offset, what }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let rest = self.body.get(self.offset..).unwrap_or_default();
        let taken = rest
            .get(..length)
            .ok_or_else(|| self.malformed("an entry is cut short"))?;
        self.offset += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[byte]| byte)
    }

    /// A number that clients see as a signed one.
    fn number(&mut self) -> Result<u64, DecodeError> {
        // Half of the range stays free, so that counting on never overflows.
        const NUMBER_MAX: u64 = 1 << 62;
        let number = u64::from_le_bytes(self.array()?);
        if number > NUMBER_MAX {
            return Err(self.malformed("a number is too large"));
        }
        Ok(number)
    }

    fn revision(&mut self) -> Result<Revision, DecodeError> {
        self.number().map(Revision)
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        let length = u32::from_le_bytes(self.array()?);
        let length =
            usize::try_from(length).map_err(|_| self.malformed("a length is too large"))?;
        // Copied, since a slice would hold on to all of the input as long as it lives.
        self.take(length).map(Bytes::copy_from_slice)
    }

    fn pair(&mut self) -> Result<KeyValue, DecodeError> {
        let kv = KeyValue {
            key: self.bytes()?,
            value: self.bytes()?,
            create_revision: self.revision()?,
            mod_revision: self.revision()?,
            sub_revision: u32::from_le_bytes(self.array()?),
            version: self.number()?,
            lease: LeaseId(i64::from_le_bytes(self.array()?)),
        };
        if kv.key.is_empty() {
            return Err(self.malformed("a key is empty"));
        }
        Ok(kv)
    }
}
