//! `lockstep completion`.

use clap_complete::Shell;

use crate::{failure::Exit, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell to write for
    shell: Shell,
}

/// Writes the script for this tree of commands.
pub(crate) fn run(arguments: &Arguments, commands: &mut clap::Command) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, commands, "lockstep", &mut script);
    output::data(&String::from_utf8_lossy(&script));
    Exit::Yes
}
