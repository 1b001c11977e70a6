//! `lockstep cel`: expressions on the command line, through the engine the server runs.

mod check;
mod cost;
mod eval;
mod expression;
mod test;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Run an expression and print its value
    Eval(eval::Arguments),
    /// Check an expression: its type, what it reads and what it writes
    Check(check::Arguments),
    /// Tell what an expression costs: at most by its schema, and on data
    Cost(cost::Arguments),
    /// Run case files and compare value, type, cost, estimate, phase and position
    Test(test::Arguments),
}

pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Cost(arguments) => cost::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
    }
}
