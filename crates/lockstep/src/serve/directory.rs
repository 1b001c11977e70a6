//! The data directory, which one server has at a time.

use std::fs::{self, File, TryLockError};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lockstep_storage_embedded::private_folder;

use crate::failure::{Exit, Failure};

/// Claimed, written into while the server runs, and empty afterwards.
const CLAIM: &str = "server.lock";

/// A data directory that belongs to this process.
pub(crate) struct Directory {
    path: PathBuf,
    claim: File,
}

impl Directory {
    /// Makes the directory if it is missing and claims it. If another server has it, the error says
    /// which.
    pub(crate) fn claim(path: &Path) -> Result<Self, Failure> {
        let wrong = |error: &io::Error| {
            let message = if path.is_file() {
                format!("data directory `{}` is a file", path.display())
            } else {
                format!("cannot use data directory `{}`: {error}", path.display())
            };
            Failure::of_server(Exit::Configuration, message)
        };
        private_folder(path).map_err(|error| wrong(&error))?;
        let file = path.join(CLAIM);
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        let claim = options.open(&file).map_err(|error| wrong(&error))?;
        match claim.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(taken(path, &file)),
            Err(TryLockError::Error(error)) => return Err(wrong(&error)),
        }
        let pki = path.join("pki");
        if pki.is_dir() {
            private_folder(&pki).map_err(|error| wrong(&error))?;
        }
        let mut directory = Self {
            path: path.to_owned(),
            claim,
        };
        directory.say("starting").map_err(|error| wrong(&error))?;
        Ok(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves word for others where this server is.
    pub(crate) fn say_where(&mut self, url: &str) -> Result<(), Failure> {
        self.say(url).map_err(|error| {
            let message = format!(
                "cannot write to `{}`: {error}",
                self.path.join(CLAIM).display()
            );
            Failure::of_server(Exit::Configuration, message)
        })
    }

    fn say(&mut self, place: &str) -> io::Result<()> {
        let (process, now) = (std::process::id(), Timestamp::now());
        self.claim.set_len(0)?;
        self.claim.rewind()?;
        writeln!(self.claim, "process {process}, {place}, since {now:.0}")
    }
}

fn taken(path: &Path, file: &Path) -> Failure {
    let holder = fs::read_to_string(file).unwrap_or_default();
    let holder = match holder.trim() {
        "" => "another server",
        holder => holder,
    };
    let message = format!("data directory `{}` is in use by {holder}", path.display());
    Failure::of_server(Exit::InUse, message)
        .with_help("stop that server, or choose another `--data-dir`")
}
