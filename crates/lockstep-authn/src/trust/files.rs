//! Files with secrets: written whole or not at all, readable by their owner alone.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

/// The largest file with keys or certificates that is read.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Errors of files with credentials.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Other users may read a secret.
    #[error("`{}` holds a secret and others may read it (mode {mode:04o}); run `chmod 600 {}`", path.display(), path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
}

/// Reads a file up to a limit that only a mistaken path exceeds.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    let wrong = |source| FileError::Read {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(wrong)?;
    let mut limited = file.take(FILE_BYTES_MAX + 1);
    limited.read_to_end(&mut bytes).map_err(wrong)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let text = format!("it is larger than {FILE_BYTES_MAX} bytes");
        return Err(wrong(io::Error::new(io::ErrorKind::FileTooLarge, text)));
    }
    Ok(bytes)
}

/// True if other users may read a file. For supplied files this is only a warning: container mounts are often
/// world-readable on purpose.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    matches!(refuse_readable_by_others(path), Err(FileError::Open { .. }))
}

/// Reads a file with a secret; an error if other users may read it.
pub(crate) fn read_private(path: &Path) -> Result<Vec<u8>, FileError> {
    refuse_readable_by_others(path)?;
    read(path)
}

#[cfg(unix)]
fn refuse_readable_by_others(path: &Path) -> Result<(), FileError> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = fs::metadata(path).map_err(|source| FileError::Read {
        path: path.to_owned(),
        source,
    })?;
    let mode = metadata.permissions().mode() & 0o7777;
    let by_others = mode & 0o077;
    if by_others == 0 {
        return Ok(());
    }
    Err(FileError::Open {
        path: path.to_owned(),
        mode,
    })
}

#[cfg(not(unix))]
fn refuse_readable_by_others(_path: &Path) -> Result<(), FileError> {
    Ok(())
}

/// Writes a file that only its owner may read: a reader sees the old content or the new one.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> Result<(), FileError> {
    let wrong = |source| FileError::Write {
        path: path.to_owned(),
        source,
    };
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // A temporary file has mode 0600 from the moment it exists.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(wrong)?;
    file.write_all(content).map_err(wrong)?;
    file.as_file().sync_all().map_err(wrong)?;
    file.persist(path).map_err(|error| wrong(error.error))?;
    sync_folder(folder).map_err(wrong)
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Creates a directory with mode 0700. An existing one is left unchanged.
pub(crate) fn make_private_folder(folder: &Path) -> Result<(), FileError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(|source| FileError::Write {
        path: folder.to_owned(),
        source,
    })
}
