//! The state behind the log: every kept version, committed in the background.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use lockstep_mvcc::{KeyValue, LeaseId, Machine, Restore, Revision};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition, TableError};

use crate::faults::{Faults, Step};

/// By revision and sub-revision, both big-endian: a pair's bytes and their CRC-32C.
const PAIRS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");
/// The TTL in seconds of each lease.
const LEASES: TableDefinition<'_, i64, i64> = TableDefinition::new("leases");
/// Single numbers.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

const FORMAT: u64 = 1;
/// Memory for pages; the machine has everything else in memory already.
const CACHE_BYTES: usize = 16 << 20;

/// Why the state cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The database said so.
    #[error(transparent)]
    Database(#[from] redb::Error),
    /// A later version of the program wrote it.
    #[error("state format {found} is unknown, this program reads format {FORMAT}")]
    UnknownFormat {
        /// Its format.
        found: u64,
    },
    /// A row is damaged.
    #[error("the row of revision {revision}.{sub} is damaged: {what}")]
    Damaged {
        /// The revision of the row.
        revision: Revision,
        /// Its sub-revision.
        sub: u32,
        /// What is wrong.
        what: &'static str,
    },
    /// The rows contradict each other.
    #[error("the state contradicts itself: {what}")]
    Contradiction {
        /// What is wrong.
        what: &'static str,
    },
    /// A test stopped it.
    #[error(transparent)]
    Stopped(#[from] io::Error),
}

/// Where a version is.
pub(crate) type Place = (Revision, u32);

/// What the state does not have yet.
#[derive(Default)]
pub(crate) struct Pending {
    /// Versions to add, or to remove.
    pub(crate) pairs: BTreeMap<Place, Option<Arc<KeyValue>>>,
    /// Leases to add, or to remove.
    pub(crate) leases: BTreeMap<LeaseId, Option<i64>>,
    /// The numbers after all of it; none if there is nothing to write.
    pub(crate) numbers: Option<Numbers>,
}

/// Up to where a state goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    /// The index of the last command in it.
    pub(crate) applied: u64,
    pub(crate) revision: Revision,
    pub(crate) compacted: Revision,
}

/// A state that was read.
pub(crate) struct Loaded {
    pub(crate) machine: Machine,
    pub(crate) applied: u64,
    /// Rows that a crash kept from being removed.
    pub(crate) garbage: Vec<Place>,
}

/// The file.
pub(crate) struct State {
    database: Database,
    faults: Faults,
}

/// Any of the database's errors as the one that holds them all.
fn database(error: impl Into<redb::Error>) -> StateError {
    StateError::Database(error.into())
}

impl State {
    pub(crate) fn open(path: &Path, faults: Faults) -> Result<Self, StateError> {
        let mut builder = Database::builder();
        let database = builder.set_cache_size(CACHE_BYTES).create(path);
        let database = database.map_err(self::database)?;
        Ok(Self { database, faults })
    }

    /// Writes what is pending, all or nothing, and waits until it is safe.
    pub(crate) fn commit(&self, pending: &Pending) -> Result<(), StateError> {
        let Some(numbers) = pending.numbers else {
            return Ok(());
        };
        self.faults.reach(Step::StateBegun)?;
        let write = self.database.begin_write().map_err(database)?;
        {
            let mut pairs = write.open_table(PAIRS).map_err(database)?;
            for (place, version) in &pending.pairs {
                let key = row_key(*place);
                match version {
                    Some(kv) => pairs.insert(&key[..], &row_value(kv)[..]),
                    None => pairs.remove(&key[..]),
                }
                .map_err(database)?;
            }
            let mut leases = write.open_table(LEASES).map_err(database)?;
            for (id, ttl_seconds) in &pending.leases {
                match ttl_seconds {
                    Some(ttl_seconds) => leases.insert(id.0, ttl_seconds),
                    None => leases.remove(id.0),
                }
                .map_err(database)?;
            }
            let mut table = write.open_table(NUMBERS).map_err(database)?;
            for (name, number) in [
                ("format", FORMAT),
                ("applied", numbers.applied),
                ("revision", numbers.revision.0),
                ("compacted", numbers.compacted.0),
            ] {
                table.insert(name, number).map_err(database)?;
            }
        }
        self.faults.reach(Step::StateWritten)?;
        write.commit().map_err(database)?;
        self.faults.reach(Step::StateCommitted)?;
        Ok(())
    }

    /// Reads everything.
    pub(crate) fn load(&self) -> Result<Loaded, StateError> {
        let read = self.database.begin_read().map_err(database)?;
        let numbers = match read.open_table(NUMBERS) {
            Ok(numbers) => numbers,
            Err(TableError::TableDoesNotExist(_)) => return Ok(Loaded::empty()),
            Err(error) => return Err(database(error)),
        };
        let number = |name| {
            let row = numbers.get(name).map_err(database)?;
            let row = row.ok_or(StateError::Contradiction {
                what: "a number is missing",
            })?;
            Ok::<_, StateError>(row.value())
        };
        let found = number("format")?;
        if found != FORMAT {
            return Err(StateError::UnknownFormat { found });
        }
        let contradiction = |what| StateError::Contradiction { what };
        let compacted = Revision(number("compacted")?);
        let restore = Restore::begin(Revision(number("revision")?), compacted);
        let mut restore = restore.map_err(contradiction)?;
        for row in read
            .open_table(LEASES)
            .map_err(database)?
            .iter()
            .map_err(database)?
        {
            let (id, ttl_seconds) = row.map_err(database)?;
            let lease = restore.lease(LeaseId(id.value()), ttl_seconds.value());
            lease.map_err(contradiction)?;
        }
        let mut kept = Kept::default();
        let mut changes = Vec::new();
        for row in read
            .open_table(PAIRS)
            .map_err(database)?
            .iter()
            .map_err(database)?
        {
            let (key, value) = row.map_err(database)?;
            let kv = read_row(key.value(), value.value())?;
            if kv.mod_revision < compacted {
                kept.add(kv);
            } else {
                changes.push(kv);
            }
        }
        for kv in kept.newest.into_values() {
            restore.kept(kv).map_err(contradiction)?;
        }
        for kv in changes {
            restore.change(kv).map_err(contradiction)?;
        }
        Ok(Loaded {
            machine: restore.finish(),
            applied: number("applied")?,
            garbage: kept.garbage,
        })
    }
}

impl Loaded {
    fn empty() -> Self {
        Self {
            machine: Machine::default(),
            applied: 0,
            garbage: Vec::new(),
        }
    }
}

/// The newest version of each key before the compaction. A crash between a compaction and the end
/// of its sweep leaves older ones too.
#[derive(Default)]
struct Kept {
    newest: BTreeMap<bytes::Bytes, KeyValue>,
    garbage: Vec<Place>,
}

impl Kept {
    fn add(&mut self, kv: KeyValue) {
        let place = place(&kv);
        let before = if kv.is_tombstone() {
            self.garbage.push(place);
            self.newest.remove(&kv.key)
        } else {
            self.newest.insert(kv.key.clone(), kv)
        };
        self.garbage
            .extend(before.map(|before| self::place(&before)));
    }
}

pub(crate) fn place(kv: &KeyValue) -> Place {
    (kv.mod_revision, kv.sub_revision)
}

fn row_key((revision, sub): Place) -> [u8; 12] {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&revision.0.to_be_bytes());
    key[8..].copy_from_slice(&sub.to_be_bytes());
    key
}

fn row_value(kv: &KeyValue) -> Vec<u8> {
    let mut value = Vec::with_capacity(kv.key.len() + kv.value.len() + 64);
    kv.encode(&mut value);
    let checksum = crc32c::crc32c(&value);
    value.extend_from_slice(&checksum.to_le_bytes());
    value
}

fn read_row(key: &[u8], value: &[u8]) -> Result<KeyValue, StateError> {
    let contradiction = StateError::Contradiction {
        what: "a row has no revision",
    };
    let key: &[u8; 12] = key.try_into().map_err(|_| contradiction)?;
    let (main, sub) = key.split_at(8);
    let revision = Revision(main.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
    let sub = sub.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let damaged = |what| StateError::Damaged {
        revision,
        sub,
        what,
    };
    let (pair, checksum) = value
        .split_last_chunk()
        .ok_or_else(|| damaged("it is cut short"))?;
    if u32::from_le_bytes(*checksum) != crc32c::crc32c(pair) {
        return Err(damaged("its checksum does not match"));
    }
    let kv = KeyValue::decode(pair).map_err(|error| damaged(error.what))?;
    if place(&kv) != (revision, sub) {
        return Err(damaged("it holds another revision"));
    }
    Ok(kv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_and_no_flipped_bit_does() {
        let kv = KeyValue {
            key: "key".into(),
            value: "value".into(),
            create_revision: Revision(0x0102),
            mod_revision: Revision(0x0304),
            sub_revision: 5,
            version: 6,
            lease: LeaseId(7),
        };
        let (key, value) = (row_key(place(&kv)), row_value(&kv));
        assert_eq!(key, [0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 5]);
        assert_eq!(read_row(&key, &value).unwrap(), kv);
        for at in 0..value.len() {
            let mut flipped = value.clone();
            flipped[at] ^= 4;
            let refused = read_row(&key, &flipped).unwrap_err().to_string();
            let expected = "the row of revision 772.5 is damaged: its checksum does not match";
            assert_eq!(refused, expected, "byte {at}");
        }
        let other = row_key((Revision(0x0305), 5));
        let refused = read_row(&other, &value).unwrap_err().to_string();
        assert_eq!(
            refused,
            "the row of revision 773.5 is damaged: it holds another revision"
        );
    }
}
