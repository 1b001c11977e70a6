//! State file: a checkpoint of every retained version, committed in the background.

mod backend;
mod load;
mod overlay;
mod rows;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lockstep_mvcc::{Alarm, KeyValue, LeaseId, Revision};
use redb::{Database, TableDefinition};

use crate::disk::{Disk, DiskFile};
use crate::faults::{Step, is_stopped};
use backend::Backend;
pub(crate) use load::{Loaded, load};
pub(crate) use rows::{Place, place};
use rows::{row_key, row_value};

/// Versions by revision and sub-revision, both big-endian, each with its CRC-32C.
const PAIRS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");
/// The TTL in seconds of each lease.
const LEASES: TableDefinition<'_, i64, i64> = TableDefinition::new("leases");
/// Raised alarms by member and kind. Files without alarms may lack the table.
const ALARMS: TableDefinition<'_, (u64, u8), ()> = TableDefinition::new("alarms");
/// Single numbers.
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");

/// Name of the state file.
pub(crate) const STATE_FILE: &str = "state.redb";
/// Name of the state file during its creation.
const UNFINISHED_FILE: &str = "state.redb.new";

/// A file of this many times the bytes of its rows is defragmented once a compaction has removed what it could.
const SPARSE_FACTOR: u64 = 4;
/// Files below this length are not defragmented: they grow again at once.
const SPARSE_BYTES_MIN: u64 = 16 << 20;

const FORMAT: u64 = 1;
/// redb page cache: enough for the inner pages of some million keys. The machine holds all data in memory already.
const CACHE_BYTES: usize = 8 << 20;

/// Errors of reading or writing the state.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// An I/O error.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A redb error.
    #[error(transparent)]
    Database(#[from] redb::Error),
    /// Page checksums do not match.
    #[error("a page is damaged: {what}; restore it from a backup")]
    Pages {
        /// Description by redb.
        what: String,
    },
    /// The state was written by a newer version.
    #[error(
        "state format {found} was written by a newer lockstep, this one reads format {FORMAT}; start that version"
    )]
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
        /// Offset of its bytes in the file, if found.
        offset: Option<u64>,
        /// Description of the damage.
        what: &'static str,
    },
    /// The rows are inconsistent.
    #[error("the state contradicts itself: {what}")]
    Contradiction {
        /// Description of the inconsistency.
        what: &'static str,
    },
}

impl StateError {
    /// Adds the file offset to an error about a damaged row.
    fn located(mut self, find: impl FnOnce() -> Option<u64>) -> Self {
        if let Self::Damaged { offset, .. } = &mut self {
            *offset = find();
        }
        self
    }

    /// The operating system's error, if it is one.
    pub(crate) fn as_io(&self) -> Option<&io::Error> {
        match self {
            Self::Io(error) | Self::Database(redb::Error::Io(error)) => Some(error),
            _ => None,
        }
    }

    /// Offset in the file, if known.
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::Damaged { offset, .. } => *offset,
            _ => None,
        }
    }
}

/// Changes not yet in the state file.
#[derive(Default)]
pub(crate) struct Pending {
    /// Versions to insert or remove.
    pub(crate) pairs: BTreeMap<Place, Option<Arc<KeyValue>>>,
    /// Leases to insert or remove.
    pub(crate) leases: BTreeMap<LeaseId, Option<i64>>,
    /// Alarms raised or cleared.
    pub(crate) alarms: BTreeMap<Alarm, bool>,
    /// True if no row is left that a compaction made unreachable.
    pub(crate) is_swept: bool,
    /// Counters after all changes; `None` if there is nothing to write.
    pub(crate) numbers: Option<Numbers>,
}

impl Pending {
    /// Adds later changes.
    pub(crate) fn add(&mut self, later: Self) {
        self.pairs.extend(later.pairs);
        self.leases.extend(later.leases);
        self.alarms.extend(later.alarms);
        if later.numbers.is_some() {
            self.numbers = later.numbers;
            self.is_swept = later.is_swept;
        }
    }
}

/// Counters of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    /// Index of the last applied command.
    pub(crate) applied: u64,
    pub(crate) revision: Revision,
    pub(crate) compacted: Revision,
}

/// The state file, open for writing.
pub(crate) struct State {
    /// None after an error, since redb refuses everything then: the next commit opens the file again.
    database: Option<Database>,
    disk: Disk,
    /// True once an fsync of the file failed. The kernel may have dropped what it did not write, and another fsync would
    /// not tell, so the file is not used any more.
    sync_failed: Arc<AtomicBool>,
    /// The bytes of all rows.
    row_bytes: u64,
}

/// Converts redb's specific errors to its general one.
fn database(error: impl Into<redb::Error>) -> StateError {
    StateError::Database(error.into())
}

fn open_database(file: DiskFile, sync_failed: Arc<AtomicBool>) -> Result<Database, StateError> {
    let backend = Backend::new(file, sync_failed).map_err(database)?;
    let mut builder = Database::builder();
    let opened = builder.set_cache_size(CACHE_BYTES);
    opened.create_with_backend(backend).map_err(database)
}

impl State {
    /// Opens or creates the file. [`load`] must have verified it before.
    pub(crate) fn open(disk: &Disk, row_bytes: u64) -> Result<Self, StateError> {
        let file = match disk.open(STATE_FILE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // Created under a temporary name, so that the final name never refers to an incomplete file.
                drop(open_database(disk.make(UNFINISHED_FILE)?, Arc::default())?);
                disk.rename(UNFINISHED_FILE, STATE_FILE)?;
                disk.open(STATE_FILE)?
            }
            opened => opened?,
        };
        // Data of a killed process may be readable without being durable, and the log releases what the state
        // covers.
        file.sync()?;
        disk.sync_names()?;
        let sync_failed: Arc<AtomicBool> = Arc::default();
        Ok(Self {
            database: Some(open_database(file, sync_failed.clone())?),
            disk: disk.clone(),
            sync_failed,
            row_bytes,
        })
    }

    /// The bytes of all rows.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.row_bytes
    }

    /// True if most of the file is free space, so that giving it back takes little work.
    pub(crate) fn is_sparse(&self) -> bool {
        let file_bytes = self.disk.length(STATE_FILE).unwrap_or_default();
        file_bytes > (self.row_bytes * SPARSE_FACTOR).max(SPARSE_BYTES_MIN)
    }

    /// Defragments the file.
    pub(crate) fn defragment(&mut self) -> Result<(), StateError> {
        let mut used = self.take_database()?;
        used.compact().map_err(database)?;
        self.database = Some(used);
        Ok(())
    }

    /// True if a failed commit may be tried again.
    pub(crate) fn may_retry(&self, error: &StateError) -> bool {
        error.as_io().is_some_and(|error| !is_stopped(error))
            && !self.sync_failed.load(Ordering::Acquire)
    }

    /// The database, opened again if an error closed it. It is put back if it is used without an error.
    fn take_database(&mut self) -> Result<Database, StateError> {
        match self.database.take() {
            Some(used) => Ok(used),
            None => {
                let file = self.disk.open(STATE_FILE)?;
                open_database(file, self.sync_failed.clone())
            }
        }
    }

    /// Commits pending changes atomically and durably. It is safe to repeat after an error.
    pub(crate) fn commit(&mut self, pending: &Pending) -> Result<(), StateError> {
        let Some(numbers) = pending.numbers else {
            return Ok(());
        };
        let used = self.take_database()?;
        let row_bytes = self.write(&used, pending, numbers)?;
        self.database = Some(used);
        self.row_bytes = row_bytes;
        self.disk.faults.reach(Step::StateCommitted)?;
        Ok(())
    }

    /// Writes pending changes in one transaction, and returns the bytes of all rows then.
    fn write(
        &self,
        used: &Database,
        pending: &Pending,
        numbers: Numbers,
    ) -> Result<u64, StateError> {
        let faults = &self.disk.faults;
        faults.reach(Step::StateBegun)?;
        let mut row_bytes = self.row_bytes;
        let write = used.begin_write().map_err(database)?;
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
        faults.reach(Step::StateWritten)?;
        write.commit().map_err(database)?;
        Ok(row_bytes)
    }
}
