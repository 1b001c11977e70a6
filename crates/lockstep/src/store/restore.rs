//! `lockstep store restore`.

use std::path::PathBuf;

use lockstep_storage_embedded::{Options, RestoreError, restore};
use lockstep_store::read_snapshot;

use super::Folder;
use crate::{
    failure::{Exit, Failure},
    output,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    folder: Folder,
    /// The file that `etcdctl snapshot save` wrote
    #[arg(long, value_name = "FILE")]
    snapshot: PathBuf,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let file = arguments.snapshot.display();
    let bytes = std::fs::read(&arguments.snapshot)
        .map_err(|error| Failure::bad_input(format!("reading `{file}`: {error}")))?;
    let machine = read_snapshot(&bytes)
        .map_err(|error| Failure::bad_input(format!("`{file}` cannot be used: {error}")))?;
    drop(bytes);
    let folder = arguments.folder.path();
    restore(folder, &machine, &Options::default()).map_err(|error| match error {
        RestoreError::NotEmpty { .. } => Failure::bad_input(error.to_string()),
        RestoreError::Open(error) => {
            Failure::of_causes(Exit::ServerIo, &error.to_string(), Vec::new())
        }
    })?;
    if !quiet {
        let (revision, folder) = (machine.revision(), folder.display());
        output::data(&format!("restored revision {revision} into `{folder}`\n"));
    }
    Ok(Exit::Yes)
}
