//! A directory made from a state.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lockstep_mvcc::Machine;

use crate::disk::Disk;
use crate::lock;
use crate::log::{Log, Scan};
use crate::state::{Numbers, Pending, STATE_FILE, State, place};
use crate::{OpenError, Options};

/// Leases that the store named itself have the index of a command as their id. No index ever comes
/// near this; greater ids were chosen by others.
const OWN_LEASE_MAX: u64 = 1 << 48;

/// Why no directory can be made from a state.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Something is there already.
    #[error("`{folder}` is not empty; choose a directory that does not exist yet")]
    NotEmpty {
        /// The directory.
        folder: PathBuf,
    },
    /// It cannot be written.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Makes a directory that opens as a store with exactly this state: same revisions, same history,
/// same leases with their full TTL ahead. If it is interrupted, what it leaves does not open.
pub fn restore(folder: &Path, machine: &Machine, options: &Options) -> Result<(), RestoreError> {
    let io = |source| OpenError::Io {
        folder: folder.to_owned(),
        source,
    };
    if !is_free(folder).map_err(io)? {
        let folder = folder.to_owned();
        return Err(RestoreError::NotEmpty { folder });
    }
    let _lock = lock::take(folder)?;
    let disk = Disk::new(folder, options.faults.clone(), options.waiting);
    let applied = last_index(machine);
    // A log that begins behind the state comes first: without the state, it is refused.
    let scan = Scan::read(folder, applied, applied).map_err(OpenError::from)?;
    let log = Log::resume(&scan, &disk, options.segment_bytes);
    log.and_then(|mut log| log.close()).map_err(io)?;
    let state =
        State::open(&disk, 0).and_then(|mut state| state.commit(&everything(machine, applied)));
    state.map_err(|source| OpenError::State {
        file: folder.join(STATE_FILE),
        source,
    })?;
    Ok(())
}

fn is_free(folder: &Path) -> io::Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// An index that no lease of the state was named after, nor any later one.
fn last_index(machine: &Machine) -> u64 {
    let ids = machine
        .leases()
        .filter_map(|(id, _)| u64::try_from(id.0).ok());
    let own = ids.filter(|id| *id < OWN_LEASE_MAX).max();
    own.unwrap_or_default().max(machine.revision().0)
}

fn everything(machine: &Machine, applied: u64) -> Pending {
    let pairs = machine
        .retained_versions()
        .map(|kv| (place(kv), Some(kv.clone())));
    let leases = machine.leases();
    Pending {
        pairs: pairs.collect(),
        leases: leases
            .map(|(id, lease)| (id, Some(lease.ttl_seconds())))
            .collect(),
        alarms: machine.alarms().map(|alarm| (alarm, true)).collect(),
        numbers: Some(Numbers {
            applied,
            revision: machine.revision(),
            compacted: machine.compacted(),
        }),
    }
}
