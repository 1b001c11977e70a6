//! `lockstep crd gates list`.

use lockstep_fieldgate::{Gate, GateList};
use lockstep_object::Object;
use serde_json::{Value, json};

use super::{source::Source, word};
use crate::{
    failure::{Exit, Failure},
    output::{self, Format, or_none},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep crd gates list\n  lockstep crd gates list crontabs.stable.example.com -o yaml\n  lockstep crd gates list -f config/crd"
)]
pub(crate) struct Arguments {
    /// The definition; all of them when not given
    #[arg(value_name = "CRD")]
    definition: Option<String>,
    #[command(flatten)]
    source: Source,
    /// Leave out the header line
    #[arg(long)]
    no_headers: bool,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

/// A gate and where it stands.
struct Row {
    definition: String,
    component: String,
    gate: Gate,
}

pub(crate) fn run(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let place = arguments.source.place()?;
    let definitions = match &arguments.definition {
        Some(name) => vec![place.one(name)?],
        None => place.all()?,
    };
    let rows: Vec<Row> = definitions.iter().flat_map(rows).collect();
    match (rows.is_empty(), quiet) {
        (_, true) => {}
        (true, false) => output::tell("No gates found.\n"),
        (false, false) => place.warn_if_idle(),
    }
    output::data(&match arguments.output {
        Format::Table if rows.is_empty() => String::new(),
        Format::Table => as_table(&rows, arguments.no_headers),
        format => {
            let items: Vec<Value> = rows.iter().map(Row::as_json).collect();
            format.render(&output::document(
                "FieldGateList",
                json!({ "items": items }),
            ))
        }
    });
    Ok(Exit::Yes)
}

fn rows(definition: &Object) -> Vec<Row> {
    let GateList {
        component, gates, ..
    } = GateList::of(definition);
    let row = |gate| Row {
        definition: definition.name().to_owned(),
        component: component.clone(),
        gate,
    };
    gates.into_iter().map(row).collect()
}

impl Row {
    fn paths(&self) -> Vec<String> {
        let paths = self.gate.paths.iter().flatten();
        paths.map(ToString::to_string).collect()
    }

    fn as_json(&self) -> Value {
        let state = self.gate.state();
        json!({
            "crd": self.definition,
            "component": self.component,
            "gate": self.gate.name,
            "stage": self.gate.stage.as_str(),
            "enabled": state.enabled,
            "rule": state.rule.as_str(),
            "fieldPaths": self.paths(),
        })
    }
}

fn as_table(rows: &[Row], no_headers: bool) -> String {
    let headers = [
        "CRD",
        "COMPONENT",
        "GATE",
        "STAGE",
        "STATE",
        "RULE",
        "PATHS",
    ];
    let line = |row: &Row| {
        let state = row.gate.state();
        vec![
            row.definition.clone(),
            or_none(row.component.clone()),
            row.gate.name.clone(),
            row.gate.stage.as_str().to_owned(),
            word(state.enabled).to_owned(),
            state.rule.as_str().to_owned(),
            or_none(row.paths().join(",")),
        ]
    };
    output::table(
        if no_headers { &[] } else { &headers },
        rows.iter().map(line),
    )
}
