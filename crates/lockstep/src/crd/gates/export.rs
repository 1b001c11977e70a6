//! `lockstep crd gates export`.

use clap::ValueEnum;
use lockstep_fieldgate::export;

use super::source::Source;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep crd gates export > gates.yaml\n  lockstep crd gates export --context production -o json\n  lockstep crd gates export -f config/crd\n\nA server that does not know gates drops them when it writes a definition; objects keep their fields. Export before you go back to such a server, and import when you return."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "yaml")]
    output: Document,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Document {
    Yaml,
    Json,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let definitions = arguments.source.place()?.all()?;
    let exported = export(definitions.iter());
    let count = exported["definitions"].as_array().map_or(0, Vec::len);
    let format = match arguments.output {
        Document::Yaml => Format::Yaml,
        Document::Json => Format::Json,
    };
    output::data(&format.render(&output::document("FieldGateExport", exported)));
    if !quiet {
        output::tell(&format!(
            "gates of {}\n",
            output::counted(count, "definition")
        ));
    }
    Ok(Exit::Yes)
}
