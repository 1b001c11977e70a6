//! `lockstep features list`.

use clap::ValueEnum;
use lockstep_featuregate::{Explanation, Gates, Stage};
use serde_json::{Value, json};

use super::registry::Preview;
use crate::{
    failure::{Exit, Failure},
    output::{self, Format, or_none},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep features list\n  lockstep features list --stage alpha --disabled\n  lockstep features list --emulated-version 1.34 -o json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    preview: Preview,
    /// Only gates of this stage
    #[arg(long, value_name = "STAGE", ignore_case = true)]
    stage: Vec<StageName>,
    /// Only gates that are on
    #[arg(long, conflicts_with = "disabled")]
    enabled: bool,
    /// Only gates that are off
    #[arg(long)]
    disabled: bool,
    /// Leave out the header line
    #[arg(long)]
    no_headers: bool,
    /// How to write the answer
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StageName {
    #[value(name = "prealpha")]
    PreAlpha,
    Alpha,
    Beta,
    Ga,
    Deprecated,
}

impl StageName {
    fn stage(self) -> Stage {
        match self {
            StageName::PreAlpha => Stage::PreAlpha,
            StageName::Alpha => Stage::Alpha,
            StageName::Beta => Stage::Beta,
            StageName::Ga => Stage::Ga,
            StageName::Deprecated => Stage::Deprecated,
        }
    }
}

/// One gate of the answer.
struct Row {
    component: String,
    name: String,
    why: Explanation,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let gates = arguments.preview.gates()?;
    let rows: Vec<Row> = rows(&gates)
        .into_iter()
        .filter(|row| arguments.wants(&row.why))
        .collect();
    if rows.is_empty() && !quiet {
        output::tell("No gates found.\n");
    }
    output::data(&match arguments.output {
        Format::Table if rows.is_empty() => String::new(),
        Format::Table => as_table(&rows, arguments.no_headers),
        format => {
            let items: Vec<Value> = rows.iter().map(as_json).collect();
            format.render(&output::document("FeatureList", json!({ "items": items })))
        }
    });
    Ok(Exit::Yes)
}

impl Arguments {
    fn wants(&self, why: &Explanation) -> bool {
        let stage =
            self.stage.is_empty() || self.stage.iter().any(|name| name.stage() == why.held.stage);
        stage && (!self.enabled || why.value) && (!self.disabled || !why.value)
    }
}

fn rows(gates: &Gates) -> Vec<Row> {
    let mut rows = Vec::new();
    for component in gates.components() {
        for (feature, why) in component.explanations() {
            let (component, name) = (
                component.component().name().to_owned(),
                feature.name.to_string(),
            );
            rows.push(Row {
                component,
                name,
                why,
            });
        }
    }
    rows
}

fn as_json(row: &Row) -> Value {
    let Explanation {
        value,
        held,
        source,
        remove_in,
        depends_on,
    } = &row.why;
    json!({
        "component": row.component,
        "name": row.name,
        "stage": held.stage.name(),
        "enabled": value,
        "default": held.default,
        "locked": held.lock_to_default,
        "since": held.version.to_string(),
        "source": source.name(),
        "removeIn": remove_in.map(|version| version.to_string()),
        "dependsOn": depends_on,
    })
}

fn as_table(rows: &[Row], no_headers: bool) -> String {
    let headers = [
        "COMPONENT",
        "NAME",
        "STAGE",
        "ENABLED",
        "DEFAULT",
        "LOCKED",
        "SINCE",
        "SOURCE",
        "REMOVE-IN",
        "DEPENDS-ON",
    ];
    let line = |Row {
                    component,
                    name,
                    why,
                }: &Row| {
        vec![
            component.clone(),
            name.clone(),
            why.held.stage.name().to_owned(),
            why.value.to_string(),
            why.held.default.to_string(),
            why.held.lock_to_default.to_string(),
            why.held.version.to_string(),
            why.source.name().to_owned(),
            or_none(
                why.remove_in
                    .map_or_else(String::new, |version| version.to_string()),
            ),
            or_none(why.depends_on.join(",")),
        ]
    };
    output::table(
        if no_headers { &[] } else { &headers },
        rows.iter().map(line),
    )
}
