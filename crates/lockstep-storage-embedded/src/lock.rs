//! Who may use a directory: one process that writes, or any number that only look.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::OpenError;

/// What more than a process id cannot need.
const HOLDER_BYTES_MAX: u64 = 20;

/// A lock that ends with this value: not later, though a process that is just being started may
/// still have a copy of the file.
pub(crate) struct Lock {
    file: File,
    /// Whether the file names this process.
    is_named: bool,
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.is_named {
            // A name that stays behind misleads, and no more than that.
            drop(self.file.set_len(0));
        }
        // Closing the file, which comes next, does the same if nobody has a copy.
        drop(self.file.unlock());
    }
}

/// Takes a directory for writing, makes it if it is missing, and leaves the id of this process for
/// whoever is refused.
pub(crate) fn take(folder: &Path) -> Result<Lock, OpenError> {
    let io = |source| OpenError::Io {
        folder: folder.to_owned(),
        source,
    };
    fs::create_dir_all(folder).map_err(io)?;
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let mut lock = options.open(folder.join("lock")).map_err(io)?;
    check(folder, &mut lock, File::try_lock)?;
    lock.set_len(0).map_err(io)?;
    writeln!(lock, "{}", std::process::id()).map_err(io)?;
    Ok(Lock {
        file: lock,
        is_named: true,
    })
}

/// Keeps writers away for as long as the answer lives, and makes nothing. A directory that no
/// store was ever opened in, or a copy of one, may have no lock to hold.
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

/// The process that took the lock last.
fn holder(lock: &mut File) -> Option<u32> {
    let mut text = String::new();
    let read = lock.take(HOLDER_BYTES_MAX).read_to_string(&mut text);
    read.ok().and_then(|_| text.trim().parse().ok())
}
