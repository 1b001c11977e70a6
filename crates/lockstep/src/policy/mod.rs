//! `lockstep policy`: admission policies on the command line, through the engine of the server.

mod diff;
mod eval;
mod input;
mod locate;
mod report;
mod test;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Evaluate policies on objects, as the server would
    Eval(Box<eval::Arguments>),
    /// Run case files and compare object, error and warnings
    Test(test::Arguments),
}

pub(crate) fn run(command: &Command, quiet: bool) -> Result<Exit, Failure> {
    match command {
        Command::Eval(arguments) => eval::run(arguments, quiet),
        Command::Test(arguments) => test::run(arguments, quiet),
    }
}
