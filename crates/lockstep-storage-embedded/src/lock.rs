//! Directory lock: exclusive for a store, shared for read-only inspection.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::OpenError;
use crate::private::{FILE_MODE, private_folder};

/// Upper bound for the length of a process id in the lock file.
const HOLDER_BYTES_MAX: u64 = 20;

/// A file lock released on drop. The explicit unlock matters because a forked child may briefly hold a copy of the
/// file descriptor.
pub(crate) struct Lock {
    file: File,
    /// True if the file contains this process's id.
    is_named: bool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_named {
            // A stale process id in the file is misleading but harmless.
            drop(self.file.set_len(0));
        }
        // Unlock explicitly: closing the file would not release the lock while a forked child has a copy.
        drop(self.file.unlock());
    }
}

/// Locks a directory for writing, creating it if needed, and records this process's id for the error message of
/// other processes.
pub(crate) fn take(folder: &Path) -> Result<Lock, OpenError> {
    let io = |source| OpenError::Io {
        folder: folder.to_owned(),
        source,
    };
    private_folder(folder).map_err(io)?;
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    options.mode(FILE_MODE);
    let mut lock = options.open(folder.join("lock")).map_err(io)?;
    check(folder, &mut lock, File::try_lock)?;
    lock.set_len(0).map_err(io)?;
    writeln!(lock, "{}", std::process::id()).map_err(io)?;
    Ok(Lock {
        file: lock,
        is_named: true,
    })
}

/// Locks a directory against writers without creating anything. A copied directory may have no lock file; then
/// there is nothing to hold.
pub(crate) fn look(folder: &Path) -> Result<Option<Lock>, OpenError> {
    match File::open(folder.join("lock")) {
        Ok(mut lock) => {
            check(folder, &mut lock, File::try_lock_shared)?;
            Ok(Some(Lock {
                file: lock,
                is_named: false,
            }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(OpenError::Io {
            folder: folder.to_owned(),
            source,
        }),
    }
}

fn check(
    folder: &Path,
    lock: &mut File,
    attempt: fn(&File) -> Result<(), TryLockError>,
) -> Result<(), OpenError> {
    match attempt(lock) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse {
            folder: folder.to_owned(),
            holder: holder(lock),
        }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io {
            folder: folder.to_owned(),
            source,
        }),
    }
}

/// Id of the process that holds the lock.
fn holder(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    let read = lock.take(HOLDER_BYTES_MAX).read_to_string(&mut text);
    read.ok().and_then(|_| text.trim().parse().ok())
}
