//! `lockstep policy`: admission policies on the command line, through the engine of the server.

mod diff;
mod edit;
mod eval;
mod export;
mod findings;
mod fmt;
mod input;
mod judge;
mod layout;
mod lint;
mod locate;
mod mask;
mod order;
mod report;
mod scan;
mod suites;
mod test;
mod webhook;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Evaluate policies on objects, as the server would
    Eval(Box<eval::Arguments>),
    /// Bring policies and bindings into another version of the API
    Convert(export::ConvertArguments),
    /// Write policies for a server without Lockstep's extensions, and say what is lost
    Export(export::Arguments),
    /// Write policies and their expressions in the canonical layout
    Fmt(fmt::Arguments),
    /// Find what a server refuses, and what it accepts and fails at later
    Lint(lint::Arguments),
    /// Show in which order mutating policies run, and what they read
    Order(order::Arguments),
    /// Find stored objects that policies would change or deny
    Scan(Box<scan::Arguments>),
    /// Run case files and compare object, error and warnings
    Test(test::Arguments),
    /// Serve policies as a webhook, for clusters whose API server does not have them
    Webhook(Box<webhook::Arguments>),
    /// Print the webhook configurations that register the webhook at a cluster
    WebhookConfig(webhook::ConfigArguments),
}

pub(crate) fn run(command: &Command, quiet: bool) -> Result<Exit, Failure> {
    match command {
        Command::Eval(arguments) => eval::run(arguments, quiet),
        Command::Convert(arguments) => export::convert(arguments, quiet),
        Command::Export(arguments) => export::export(arguments, quiet),
        Command::Fmt(arguments) => fmt::run(arguments, quiet),
        Command::Lint(arguments) => lint::run(arguments, quiet),
        Command::Order(arguments) => order::run(arguments, quiet),
        Command::Scan(arguments) => scan::run(arguments, quiet),
        Command::Test(arguments) => test::run(arguments, quiet),
        Command::Webhook(arguments) => webhook::run(arguments, quiet),
        Command::WebhookConfig(arguments) => webhook::print(arguments),
    }
}
