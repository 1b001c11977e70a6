//! `lockstep completion`.

use clap_complete::Shell;

use crate::{cli, failure::Exit, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell to write for
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut cli::command(),
        "lockstep",
        &mut script,
    );
    output::data(&String::from_utf8_lossy(&script));
    Exit::Yes
}
