//! `lockstep features`: what is on, why, and what changes with an upgrade.

mod check;
mod docs;
mod eval;
mod explain;
mod lint;
mod list;
pub(crate) mod live;
mod plan;
mod registry;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List gates with their stage, value and the reason for it
    List(list::Arguments),
    /// Find gates that break the rules of their life, or are overdue
    Lint(lint::Arguments),
    /// Say what to do with which gate in the coming releases
    Plan(plan::Arguments),
    /// Tell whether settings survive an upgrade
    Check(check::Arguments),
    /// Show the history of one gate and why it has its value
    Explain(explain::Arguments),
    /// Write the reference table of gates as Markdown
    Docs(docs::Arguments),
    /// Start nothing: show what a server would make of a registry, an environment and flags
    Eval(eval::Arguments),
}

pub(crate) fn run(command: Command, quiet: bool) -> Result<Exit, Failure> {
    match command {
        Command::List(arguments) => list::run(&arguments, quiet),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments, quiet),
        Command::Check(arguments) => check::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Docs(arguments) => docs::run(&arguments),
        Command::Eval(arguments) => eval::run(arguments),
    }
}
