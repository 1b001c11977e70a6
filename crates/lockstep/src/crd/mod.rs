//! `lockstep crd`: custom resource definitions.

mod gates;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List, switch and check field gates
    #[command(subcommand)]
    Gates(gates::Command),
}

pub(crate) fn run(command: Command, quiet: bool) -> Result<Exit, Failure> {
    let Command::Gates(command) = command;
    gates::run(command, quiet)
}
