//! `lockstep features plan`.

use lockstep_featuregate::{
    Component, EMULATED_MINORS, Version,
    plan::{Step, plan},
};
use serde_json::{Value, json};

use super::registry::Source;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features plan\n  lockstep features plan --until 1.40 -o json\n  lockstep features plan --file versioned_feature_list.yaml --version 1.37"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    source: Source,
    /// The last release to plan for; three after the version when not given
    #[arg(long, value_name = "VERSION", value_parser = Version::parse)]
    until: Option<Version>,
    /// Leave out the header line
    #[arg(long)]
    no_headers: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let components = arguments.source.table()?.components;
    let mut steps: Vec<Step> = components
        .iter()
        .flat_map(|component| arguments.steps(component))
        .collect();
    steps.sort();
    if steps.is_empty() && !quiet {
        output::tell("Nothing to do.\n");
    }
    output::data(&match arguments.output {
        Format::Table if steps.is_empty() => String::new(),
        Format::Table => as_table(&steps, arguments.no_headers),
        format => format.render(&steps.iter().map(as_json).collect()),
    });
    Ok(Exit::Yes)
}

impl Arguments {
    fn steps(&self, component: &Component) -> Vec<Step> {
        let from = component.binary().line();
        plan(
            component,
            from,
            self.until.unwrap_or(from.plus_minors(EMULATED_MINORS)),
        )
    }
}

fn as_json(step: &Step) -> Value {
    json!({
        "version": step.version.to_string(),
        "component": step.component,
        "gate": step.gate,
        "action": step.action.name(),
        "reason": step.reason,
    })
}

fn as_table(steps: &[Step], no_headers: bool) -> String {
    let headers = ["VERSION", "COMPONENT", "GATE", "ACTION", "REASON"];
    let row = |step: &Step| {
        vec![
            step.version.to_string(),
            step.component.clone(),
            step.gate.clone(),
            step.action.name().to_owned(),
            step.reason.clone(),
        ]
    };
    output::table(
        if no_headers { &[] } else { &headers },
        steps.iter().map(row),
    )
}
