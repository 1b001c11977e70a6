//! Creation of a data directory from a snapshot.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lockstep_mvcc::Machine;

use crate::disk::Disk;
use crate::lock;
use crate::log::{AppendError, Log, Scan};
use crate::state::{Numbers, Pending, STATE_FILE, State, place};
use crate::{OpenError, Options};

/// Lease ids below this bound may be log indexes, chosen by the store; greater ids were chosen by clients.
const OWN_LEASE_MAX: u64 = 1 << 48;

/// Errors of [`restore`].
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The directory is not empty.
    #[error("`{folder}` is not empty; choose a directory that does not exist yet")]
    NotEmpty {
        /// The directory.
        folder: PathBuf,
    },
    /// The directory cannot be written.
    #[error(transparent)]
    Open(#[from] OpenError),
}

/// Creates a data directory with exactly this state: revisions, history and leases, which start with their full
/// TTL. An interrupted restore leaves a directory that does not open.
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
    let disk = Disk::new(folder, options.faults.clone(), options.durability);
    let applied = last_index(machine);
    // The log starts after the state and is written first: without the state the directory does not open.
    let scan = Scan::read(folder, applied, applied).map_err(OpenError::from)?;
    let log = Log::resume(&scan, &disk, options.segment_bytes);
    log.and_then(|mut log| log.close().map_err(AppendError::into_source))
        .map_err(io)?;
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

/// A log index greater than any lease id chosen by the store.
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
        is_swept: true,
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
