//! redb storage backend on the store's own files.

use std::io;
use std::ops::Bound;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::FileBackend;
use redb::{BackendError, DatabaseError, StorageBackend};

use crate::disk::DiskFile;

/// Reads and locks like redb's file backend; writes through [`DiskFile`], so that faults can be injected.
#[derive(Debug)]
pub(super) struct Backend {
    file: DiskFile,
    locks: FileBackend,
    /// Set when an fsync fails.
    sync_failed: Arc<AtomicBool>,
}

impl Backend {
    pub(super) fn new(file: DiskFile, sync_failed: Arc<AtomicBool>) -> Result<Self, DatabaseError> {
        let locks = FileBackend::new(file.file.try_clone()?)?;
        Ok(Self {
            file,
            locks,
            sync_failed,
        })
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.resize(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        let synced = self.file.sync();
        self.sync_failed.fetch_or(synced.is_err(), Ordering::AcqRel);
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.locks.close()
    }

    fn try_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.locks.try_lock_range(start, end)
    }

    fn try_lock_shared_range(
        &self,
        start: Bound<u64>,
        end: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.locks.try_lock_shared_range(start, end)
    }

    fn lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.locks.lock_range(start, end)
    }

    fn lock_shared_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.locks.lock_shared_range(start, end)
    }

    fn unlock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<(), BackendError> {
        self.locks.unlock_range(start, end)
    }

    fn query_lock_range(&self, start: Bound<u64>, end: Bound<u64>) -> Result<bool, BackendError> {
        self.locks.query_lock_range(start, end)
    }
}
