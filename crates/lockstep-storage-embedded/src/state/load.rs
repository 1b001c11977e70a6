//! Read-only loading of the state file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use lockstep_mvcc::{Alarm, AlarmKind, KeyValue, LeaseId, Machine, MemberId, Restore, Revision};
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableError};

use super::overlay::Overlay;
use super::rows::read_row;
use super::{
    ALARMS, CACHE_BYTES, FORMAT, LEASES, NUMBERS, PAIRS, Place, StateError, database, place,
};

/// A loaded state.
pub(crate) struct Loaded {
    pub(crate) machine: Machine,
    pub(crate) applied: u64,
    /// The bytes of all rows.
    pub(crate) row_bytes: u64,
    /// Rows that should have been removed before a crash.
    pub(crate) garbage: Vec<Place>,
}

impl Loaded {
    fn empty() -> Self {
        Self {
            machine: Machine::default(),
            applied: 0,
            row_bytes: 0,
            garbage: Vec::new(),
        }
    }
}

/// Verifies all page checksums and loads all rows. A missing file is an empty state. Returns every error, not only
/// the first.
pub(crate) fn load(path: &Path) -> Result<Loaded, Vec<StateError>> {
    let one = |error| vec![error];
    let io = |error| vec![StateError::Io(error)];
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Loaded::empty()),
        Err(error) => return Err(io(error)),
    };
    if file.metadata().map_err(io)?.len() == 0 {
        return Ok(Loaded::empty());
    }
    let mut opened = look(&file).map_err(one)?;
    let what = match opened.check_integrity() {
        Ok(true) => {
            let read = opened.begin_read().map_err(|error| one(database(error)))?;
            return load_from(&read, &file);
        }
        Ok(false) => "the last commit cannot be read".to_owned(),
        Err(error) => error.to_string(),
    };
    // redb trusts its pages, so rows are read only after page checksums were verified.
    Err(vec![StateError::Pages { what }])
}

fn look(file: &File) -> Result<Database, StateError> {
    let file = file.try_clone().map_err(StateError::Io)?;
    let overlay = Overlay::new(file).map_err(StateError::Io)?;
    let mut builder = Database::builder();
    let opened = builder.set_cache_size(CACHE_BYTES);
    opened.create_with_backend(overlay).map_err(database)
}

fn load_from(read: &ReadTransaction, file: &File) -> Result<Loaded, Vec<StateError>> {
    let one = |error| vec![error];
    let numbers = match read.open_table(NUMBERS) {
        Ok(numbers) => numbers,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Loaded::empty()),
        Err(error) => return Err(one(database(error))),
    };
    let number = |name| {
        let row = numbers.get(name).map_err(|error| one(database(error)))?;
        let what = "a number is missing";
        let row = row.ok_or_else(|| one(StateError::Contradiction { what }))?;
        Ok::<_, Vec<StateError>>(row.value())
    };
    let found = number("format")?;
    if found != FORMAT {
        return Err(one(StateError::UnknownFormat { found }));
    }
    let contradiction = |what| one(StateError::Contradiction { what });
    let compacted = Revision(number("compacted")?);
    let restore = Restore::begin(Revision(number("revision")?), compacted);
    let mut restore = restore.map_err(contradiction)?;
    for (id, ttl_seconds) in leases(read).map_err(one)? {
        restore.lease(id, ttl_seconds).map_err(contradiction)?;
    }
    for alarm in alarms(read).map_err(one)? {
        restore.alarm(alarm).map_err(contradiction)?;
    }
    let mut rows = Rows::default();
    rows.read(read, compacted, file).map_err(one)?;
    if !rows.damaged.is_empty() {
        return Err(rows.damaged);
    }
    for kv in rows.newest.into_values() {
        restore.retained(kv).map_err(contradiction)?;
    }
    for kv in rows.changes {
        restore.change(kv).map_err(contradiction)?;
    }
    Ok(Loaded {
        machine: restore.finish(),
        applied: number("applied")?,
        row_bytes: rows.bytes,
        garbage: rows.garbage,
    })
}

fn leases(read: &ReadTransaction) -> Result<Vec<(LeaseId, i64)>, StateError> {
    let table = read.open_table(LEASES).map_err(database)?;
    let rows = table.iter().map_err(database)?;
    rows.map(|row| {
        let (id, ttl_seconds) = row.map_err(database)?;
        Ok((LeaseId(id.value()), ttl_seconds.value()))
    })
    .collect()
}

fn alarms(read: &ReadTransaction) -> Result<Vec<Alarm>, StateError> {
    let table = match read.open_table(ALARMS) {
        Ok(table) => table,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(database(error)),
    };
    let rows = table.iter().map_err(database)?;
    rows.map(|row| {
        let (member, kind) = row.map_err(database)?.0.value();
        let what = "an alarm is unknown";
        let kind = AlarmKind::of_number(kind).ok_or(StateError::Contradiction { what })?;
        let member = MemberId(member);
        Ok(Alarm { member, kind })
    })
    .collect()
}

/// Rows of the pairs table.
#[derive(Default)]
struct Rows {
    /// The newest version of each key before the compaction.
    newest: BTreeMap<bytes::Bytes, KeyValue>,
    /// Changes since the compaction.
    changes: Vec<KeyValue>,
    /// Older versions left by a crash between a compaction and the end of its sweep.
    garbage: Vec<Place>,
    damaged: Vec<StateError>,
    bytes: u64,
}

impl Rows {
    fn read(
        &mut self,
        read: &ReadTransaction,
        compacted: Revision,
        file: &File,
    ) -> Result<(), StateError> {
        let table = read.open_table(PAIRS).map_err(database)?;
        for row in table.iter().map_err(database)? {
            let (key, value) = row.map_err(database)?;
            self.bytes += value.value().len() as u64;
            match read_row(key.value(), value.value()) {
                Ok(kv) if kv.mod_revision < compacted => self.keep(kv),
                Ok(kv) => self.changes.push(kv),
                Err(error) => {
                    let error = error.located(|| find(file, value.value()));
                    self.damaged.push(error);
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, kv: KeyValue) {
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

/// Offset of the first occurrence of `bytes` in a file.
fn find(file: &File, bytes: &[u8]) -> Option<u64> {
    const PIECE: usize = 1 << 20;
    let mut piece = vec![0; PIECE + bytes.len()];
    let mut at = 0;
    loop {
        let count = file.read_at(&mut piece, at).ok()?;
        let mut windows = piece[..count].windows(bytes.len());
        if let Some(found) = windows.position(|window| window == bytes) {
            return Some(at + found as u64);
        }
        if count < bytes.len() {
            return None;
        }
        at += (count - bytes.len() + 1) as u64;
    }
}
