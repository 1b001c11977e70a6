//! `lockstep store`: the store on a directory, looked at from outside.

mod dump;
mod verify;

use std::path::{Path, PathBuf};

use lockstep_storage_embedded::Inspection;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Print what a store holds, without changing it
    #[command(
        after_help = "Examples:\n  lockstep store dump --data-dir data\n  lockstep store dump --data-dir data --prefix /registry/pods/ --values\n  lockstep store dump --data-dir data --revision 12 -o json"
    )]
    Dump(dump::Arguments),
    /// Check every byte of a store, without changing it
    #[command(
        after_help = "Examples:\n  lockstep store verify --data-dir data\n  lockstep store verify --data-dir data -o json\n\nExit status: 0 if a server can use it, 1 if it is damaged, 2 if it cannot be looked at."
    )]
    Verify(verify::Arguments),
}

pub(crate) fn run(command: Command, quiet: bool) -> Result<Exit, Failure> {
    match command {
        Command::Dump(arguments) => dump::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments, quiet),
    }
}

/// Where a store is.
#[derive(Debug, clap::Args)]
struct Folder {
    /// The directory of the store
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: PathBuf,
}

impl Folder {
    fn inspect(&self) -> Result<Inspection, Failure> {
        Inspection::of(&self.data_dir).map_err(|error| Failure::bad_input(error.to_string()))
    }

    fn path(&self) -> &Path {
        &self.data_dir
    }
}
