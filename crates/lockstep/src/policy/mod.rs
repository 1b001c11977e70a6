//! `lockstep policy`: admission policies on the command line, through the engine of the server.

mod diff;
mod eval;
mod input;
mod locate;
mod order;
mod report;
mod test;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Evaluate policies on objects, as the server would
    Eval(Box<eval::Arguments>),
    /// Show in which order mutating policies run, and what they read
    Order(order::Arguments),
    /// Run case files and compare object, error and warnings
    Test(test::Arguments),
}

pub(crate) fn run(command: &Command, quiet: bool) -> Result<Exit, Failure> {
    match command {
        Command::Eval(arguments) => eval::run(arguments, quiet),
        Command::Order(arguments) => order::run(arguments, quiet),
        Command::Test(arguments) => test::run(arguments, quiet),
    }
}
