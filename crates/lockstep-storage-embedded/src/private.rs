//! Permissions of a data directory: its content may hold secrets, so only its owner has access.

use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Mode of a new directory.
const FOLDER_MODE: u32 = 0o700;
/// Mode of a new file.
pub(crate) const FILE_MODE: u32 = 0o600;
/// Permissions of the group and of others.
const FOREIGN_BITS: u32 = 0o077;

/// Creates a directory for its owner alone. If it exists, the group and others lose their access to it and to the files
/// in it, as far as this user owns them: a volume may give access by its group to a process that owns nothing there.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(FOLDER_MODE).create(folder)?;
    let user = rustix::process::geteuid().as_raw();
    restrict(folder, &fs::metadata(folder)?, user)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // The metadata of a link is its own, so nothing outside of the directory changes.
        let metadata = entry.metadata()?;
        if metadata.is_file() {
            restrict(&entry.path(), &metadata, user)?;
        }
    }
    Ok(())
}

fn restrict(path: &Path, metadata: &Metadata, user: u32) -> io::Result<()> {
    let mode = metadata.permissions().mode();
    if mode & FOREIGN_BITS == 0 || metadata.uid() != user {
        return Ok(());
    }
    match fs::set_permissions(path, Permissions::from_mode(mode & !FOREIGN_BITS)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        restricted => restricted,
    }
}
