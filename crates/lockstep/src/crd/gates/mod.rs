//! `lockstep crd gates`: gates of single fields, in files and on servers.

mod definition;
mod dry_run;
mod eval;
mod explain;
mod export;
mod import;
mod lint;
mod list;
mod scan;
mod source;
mod switch;

use lockstep_fieldgate::Switch;

use crate::failure::{Exit, Failure};

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List gates with their stage, state and fields
    List(list::Arguments),
    /// Open a gate
    #[command(
        after_help = "Examples:\n  lockstep crd gates enable crontabs.stable.example.com ReplicasFeatureGate\n  lockstep crd gates enable crontabs ReplicasFeatureGate --dry-run\n  lockstep crd gates enable crontabs ReplicasFeatureGate -f crd.yaml > open.yaml\n\nApplies `enabled` of the gate and nothing else, as field manager `lockstep-crd-gates`. With `-f` the changed definition is printed, and nothing is sent."
    )]
    Enable(switch::Arguments),
    /// Close a gate; what is stored in its fields stays
    #[command(
        after_help = "Examples:\n  lockstep crd gates disable crontabs.stable.example.com ReplicasFeatureGate\n  lockstep crd gates disable crontabs ReplicasFeatureGate --dry-run=client\n  lockstep crd gates disable crontabs ReplicasFeatureGate --force-conflicts\n\nApplies `enabled` of the gate and nothing else, as field manager `lockstep-crd-gates`. With `-f` the changed definition is printed, and nothing is sent."
    )]
    Disable(switch::Arguments),
    /// Remove the admin's choice for a gate, so that the author's default holds
    #[command(
        after_help = "Examples:\n  lockstep crd gates unset crontabs.stable.example.com ReplicasFeatureGate\n  lockstep crd gates unset crontabs ReplicasFeatureGate --dry-run\n  lockstep crd gates unset crontabs ReplicasFeatureGate --force-conflicts\n\nRemoves `enabled` of the gate. What another field manager set is removed with `--force-conflicts` only."
    )]
    Unset(switch::Arguments),
    /// Find what a server would refuse, and what would surprise users
    Lint(lint::Arguments),
    /// Count and name the objects that hold gated fields
    Scan(scan::Arguments),
    /// Say which gates decide about a field, and what becomes of it
    Explain(explain::Arguments),
    /// Send nothing: show what a server would make of a write
    Eval(eval::Arguments),
    /// Write the gates of all definitions as one document
    Export(export::Arguments),
    /// Put exported gates back
    Import(import::Arguments),
}

pub(crate) fn run(command: Command, quiet: bool) -> Result<Exit, Failure> {
    match command {
        Command::List(arguments) => list::run(&arguments, quiet),
        Command::Enable(arguments) => switch::run(&arguments, Switch::Enable, quiet),
        Command::Disable(arguments) => switch::run(&arguments, Switch::Disable, quiet),
        Command::Unset(arguments) => switch::run(&arguments, Switch::Unset, quiet),
        Command::Lint(arguments) => lint::run(&arguments),
        Command::Scan(arguments) => scan::run(&arguments, quiet),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Eval(arguments) => eval::run(&arguments),
        Command::Export(arguments) => export::run(&arguments, quiet),
        Command::Import(arguments) => import::run(&arguments),
    }
}

/// State of a gate as the commands print it.
fn word(is_enabled: bool) -> &'static str {
    if is_enabled { "enabled" } else { "disabled" }
}
