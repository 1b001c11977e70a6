//! `lockstep features docs`.

use std::path::PathBuf;

use lockstep_featuregate::docs::markdown;

use super::registry::Source;
use crate::{
    document,
    failure::{Exit, Failure},
    output,
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features docs > feature-gates.md\n  lockstep features docs --check feature-gates.md\n  lockstep features docs --file registry.yaml"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Compare with this file instead of writing
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let table = markdown(&arguments.source.table()?.components);
    let Some(path) = &arguments.check else {
        output::data(&table);
        return Ok(Exit::Yes);
    };
    if document::read_text(path)? == table {
        return Ok(Exit::Yes);
    }
    let message = format!("{} is stale", path.display());
    let help = format!("run `lockstep features docs > {}`", path.display());
    Err(Failure {
        exit: Exit::No,
        message,
        causes: Vec::new(),
        help: Some(help),
    })
}
