//! The state behind the log: every kept version, committed in the background.

mod backend;
mod load;
mod overlay;
mod rows;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use lockstep_mvcc::{Alarm, KeyValue, LeaseId, Revision};
use redb::{Database, TableDefinition};

use crate::disk::{Disk, DiskFile};
use crate::faults::{Faults, Step};
use backend::Backend;
pub(crate) use load::{Loaded, load};
pub(crate) use rows::{Place, place};
use rows::{row_key, row_value};

/// By revision and sub-revision, both big-endian: a pair's bytes and their CRC-32C.
const PAIRS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");
/// The TTL in seconds of each lease.
const LEASES: TableDefinition<'_, i64, i64> = TableDefinition::new("leases");
/// Raised alarms by member and kind. Files without alarms may lack the table.
const ALARMS: TableDefinition<'_, (u64, u8), ()> = TableDefinition::new("alarms");
/// Single numbers.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// The file of the state in a folder.
pub(crate) const STATE_FILE: &str = "state.redb";
/// The same while it is being made.
const UNFINISHED_FILE: &str = "state.redb.new";

const FORMAT: u64 = 1;
/// Memory for pages: the inner ones of some million keys. The machine has everything else in memory
/// already.
const CACHE_BYTES: usize = 8 << 20;

/// Why the state cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The system said so.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The database said so.
    #[error(transparent)]
    Database(#[from] redb::Error),
    /// Pages do not have the bytes that were written to them.
    #[error("a page is damaged: {what}; restore it from a backup")]
    Pages {
        /// What the database says.
        what: String,
    },
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
        /// Where in the file its bytes are, if they could be found.
        offset: Option<u64>,
        /// What is wrong.
        what: &'static str,
    },
    /// The rows contradict each other.
    #[error("the state contradicts itself: {what}")]
    Contradiction {
        /// What is wrong.
        what: &'static str,
    },
}

impl StateError {
    /// The same error with the place of a damaged row.
    fn located(mut self, find: impl FnOnce() -> Option<u64>) -> Self {
        if let Self::Damaged { offset, .. } = &mut self {
            *offset = find();
        }
        self
    }

    /// Where in the file, if that is known.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Damaged { offset, .. } => *offset,
            _ => None,
        }
    }
}

/// What the state does not have yet.
#[derive(Default)]
pub(crate) struct Pending {
    /// Versions to add, or to remove.
    pub(crate) pairs: BTreeMap<Place, Option<Arc<KeyValue>>>,
    /// Leases to add, or to remove.
    pub(crate) leases: BTreeMap<LeaseId, Option<i64>>,
    /// Alarms that were raised, or cleared.
    pub(crate) alarms: BTreeMap<Alarm, bool>,
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

/// The file.
pub(crate) struct State {
    database: Database,
    faults: Faults,
    /// The bytes of all rows.
    row_bytes: u64,
}

/// Any of the database's errors as the one that holds them all.
fn database(error: impl Into<redb::Error>) -> StateError {
    StateError::Database(error.into())
}

fn open_database(file: DiskFile) -> Result<Database, StateError> {
    let backend = Backend::new(file).map_err(database)?;
    let mut builder = Database::builder();
    let opened = builder.set_cache_size(CACHE_BYTES);
    opened.create_with_backend(backend).map_err(database)
}

impl State {
    /// Opens the file for writing, or makes it. Whether it is sound is asked by [`load`] before.
    pub(crate) fn open(disk: &Disk, row_bytes: u64) -> Result<Self, StateError> {
        let file = match disk.open(STATE_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Under its name, the file is never found half made.
                drop(open_database(disk.make(UNFINISHED_FILE)?)?);
                disk.rename(UNFINISHED_FILE, STATE_FILE)?;
                disk.open(STATE_FILE)?
            }
            opened => opened?,
        };
        // What a process wrote before it was killed is readable and may not be safe, and the log
        // lets go of what the state has.
        file.sync()?;
        disk.sync_names()?;
        Ok(Self {
            database: open_database(file)?,
            faults: disk.faults.clone(),
            row_bytes,
        })
    }

    /// The bytes of all rows.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// Gives unused space of the file back.
    pub(crate) fn pack(&mut self) -> Result<(), StateError> {
        self.database.compact().map_err(database)?;
        Ok(())
    }

    /// Writes what is pending, all or nothing, and waits until it is safe.
    pub(crate) fn commit(&mut self, pending: &Pending) -> Result<(), StateError> {
        let Some(numbers) = pending.numbers else {
            return Ok(());
        };
        self.faults.reach(Step::StateBegun)?;
        let mut row_bytes = self.row_bytes;
        let write = self.database.begin_write().map_err(database)?;
        {
            let mut pairs = write.open_table(PAIRS).map_err(database)?;
            for (place, version) in &pending.pairs {
                let key = row_key(*place);
                let value = version.as_deref().map(row_value).unwrap_or_default();
                let before = match version {
                    Some(_) => pairs.insert(&key[..], &value[..]),
                    None => pairs.remove(&key[..]),
                }
                .map_err(database)?;
                let before = before.map_or(0, |before| before.value().len());
                row_bytes = (row_bytes + value.len() as u64).saturating_sub(before as u64);
            }
            let mut alarms = write.open_table(ALARMS).map_err(database)?;
            for (alarm, is_raised) in &pending.alarms {
                let row = (alarm.member.0, alarm.kind.number());
                if *is_raised {
                    alarms.insert(row, ()).map_err(database)?;
                } else {
                    alarms.remove(row).map_err(database)?;
                }
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
        self.row_bytes = row_bytes;
        self.faults.reach(Step::StateCommitted)?;
        Ok(())
    }
}
