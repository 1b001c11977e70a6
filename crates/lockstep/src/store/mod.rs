//! `lockstep store`: the store on a directory, served to others or looked at from outside.

mod dump;
mod flags;
mod logs;
mod restore;
mod serve;
mod settings;
mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use lockstep_storage_embedded::Inspection;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_help_heading = "Tools"
)]
#[command(
    after_help = "Examples:\n  lockstep store --data-dir data\n  lockstep store --data-dir data --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379\n  lockstep store verify --data-dir data"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    tool: Option<Command>,
    #[command(flatten)]
    flags: flags::Given,
}

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
    /// Make a directory from a snapshot
    #[command(
        after_help = "Examples:\n  lockstep store restore --snapshot backup.db --data-dir data\n\nThe directory must not exist yet. A server that is started on it has the keys, revisions and leases of the snapshot, and ids of its own."
    )]
    Restore(restore::Arguments),
}

pub(crate) fn run(arguments: Arguments, quiet: bool) -> Result<Exit, Failure> {
    match arguments.tool {
        Some(Command::Dump(arguments)) => dump::run(&arguments),
        Some(Command::Verify(arguments)) => verify::run(&arguments, quiet),
        Some(Command::Restore(arguments)) => restore::run(&arguments, quiet),
        None => serve::run(&arguments.flags),
    }
}

/// Whether these arguments ask for a server, whose wrong flags have an exit code of their own.
pub(crate) fn serves(arguments: &[OsString]) -> bool {
    let mut words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    words.next() == Some("store") && words.next().is_none_or(|word| word.starts_with('-'))
}

/// Flags of a server as etcd takes them, with one dash or two.
pub(crate) fn with_two_dashes(mut arguments: Vec<OsString>) -> Vec<OsString> {
    if serves(&arguments) {
        for word in arguments.iter_mut().skip(2) {
            let name = word.to_str().and_then(|word| word.strip_prefix('-'));
            let is_known = |name: &&str| {
                let name = name.split_once('=').map_or(*name, |(name, _)| name);
                flags::FLAGS.iter().any(|flag| flag.name == name)
            };
            if let Some(name) = name.filter(is_known) {
                *word = format!("--{name}").into();
            }
        }
    }
    arguments
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
