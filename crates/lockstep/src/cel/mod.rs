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
    #[command(
        after_help = "Examples:\n  lockstep cel eval '1 + 1'\n  lockstep cel eval 'object.spec.replicas <= 5' -f variables.yaml\n  lockstep cel eval 'self.replicas > 0' --schema schema.yaml -f variables.yaml -o json"
    )]
    Eval(expression::Arguments),
    /// Check an expression, and print its type, reads and writes
    #[command(
        after_help = "Examples:\n  lockstep cel check 'object.spec.replicas <= 5' --context policy\n  lockstep cel check 'self.replicas > 0' --schema schema.yaml\n  lockstep cel check 'Object{spec: Object.spec{replicas: 1}}' --context mutation -o json"
    )]
    Check(expression::Arguments),
    /// Estimate the cost of an expression by its schema, and measure it on data
    #[command(
        after_help = "Examples:\n  lockstep cel cost 'self.all(x, x > 0)' --schema schema.yaml\n  lockstep cel cost 'object.spec.replicas <= 5' -f variables.yaml\n  lockstep cel cost '[1, 2].sum() > 2' -o json"
    )]
    Cost(expression::Arguments),
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
