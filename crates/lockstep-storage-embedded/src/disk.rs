//! File operations of the store. All modifications go through this module, so that tests can record them or inject
//! errors.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::faults::{Faults, FileAction};
use crate::private::FILE_MODE;

/// The directory of a store.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    folder: PathBuf,
    pub(crate) faults: Faults,
    durability: Durability,
}

/// Durability of acknowledged writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Writes are fsynced before they are acknowledged, so they survive power loss.
    Fsync,
    /// Writes are not fsynced and survive only the end of the process (`--unsafe-no-fsync`). For tests.
    None,
}

/// A file that is open for reading and writing.
#[derive(Debug)]
pub(crate) struct DiskFile {
    pub(crate) file: File,
    name: String,
    faults: Faults,
    durability: Durability,
}

impl Disk {
    pub(crate) fn new(folder: &Path, faults: Faults, durability: Durability) -> Self {
        let folder = folder.to_owned();
        Self {
            folder,
            faults,
            durability,
        }
    }

    /// Creates an empty file, or truncates one.
    pub(crate) fn make(&self, name: &str) -> io::Result<DiskFile> {
        self.faults.touch(name, FileAction::Make)?;
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(true);
        options.mode(FILE_MODE);
        Ok(self.file(name, options.open(self.folder.join(name))?))
    }

    pub(crate) fn open(&self, name: &str) -> io::Result<DiskFile> {
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .open(self.folder.join(name))?;
        Ok(self.file(name, file))
    }

    /// Length of a file.
    pub(crate) fn length(&self, name: &str) -> io::Result<u64> {
        Ok(fs::metadata(self.folder.join(name))?.len())
    }

    fn file(&self, name: &str, file: File) -> DiskFile {
        DiskFile {
            file,
            name: name.to_owned(),
            faults: self.faults.clone(),
            durability: self.durability,
        }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.faults.touch(from, FileAction::Rename { to })?;
        fs::rename(self.folder.join(from), self.folder.join(to))
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        self.faults.touch(name, FileAction::Remove)?;
        fs::remove_file(self.folder.join(name))
    }

    /// Fsyncs the directory, which makes names durable.
    pub(crate) fn sync_names(&self) -> io::Result<()> {
        self.faults.touch("", FileAction::SyncFolder)?;
        if self.durability == Durability::None {
            return Ok(());
        }
        File::open(&self.folder)?.sync_all()
    }
}

impl DiskFile {
    pub(crate) fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let action = FileAction::Write { offset, bytes };
        self.faults.touch(&self.name, action)?;
        self.file.write_all_at(bytes, offset)
    }

    pub(crate) fn resize(&self, length: u64) -> io::Result<()> {
        self.faults
            .touch(&self.name, FileAction::Resize { length })?;
        self.file.set_len(length)
    }

    /// Fsyncs content and length of the file.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.faults.touch(&self.name, FileAction::Sync)?;
        if self.durability == Durability::None {
            return Ok(());
        }
        self.file.sync_data()
    }
}
