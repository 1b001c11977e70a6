//! `lockstep crd gates explain`.

use lockstep_featuregate::suggestion;
use lockstep_fieldgate::{AffectingGate, ExplainError, Explanation, FieldPath, explain};
use serde_json::{Value, json};

use super::{source::Source, word};
use crate::{
    failure::{Exit, Failure},
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep crd gates explain crontabs.stable.example.com .spec.replicas\n  lockstep crd gates explain crontabs '.spec.jobs[*].probe' -o json\n  lockstep crd gates explain crontabs spec.replicas -f crd.yaml"
)]
pub(crate) struct Arguments {
    /// The definition
    #[arg(value_name = "CRD")]
    definition: String,
    /// The field, as `.spec.replicas` or `.spec.jobs[*].probe`
    path: String,
    #[command(flatten)]
    source: Source,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let path = path(&arguments.path)?;
    let definition = arguments.source.place()?.one(&arguments.definition)?;
    let told = explain(&definition, &path).map_err(|error| unknown(&error))?;
    output::data(&match arguments.output {
        Format::Table => as_text(definition.name(), &told),
        format => format.render(&as_document(definition.name(), &told)),
    });
    Ok(Exit::Yes)
}

/// The first dot may be left out, as `kubectl explain` has it.
fn path(text: &str) -> Result<FieldPath, Failure> {
    let whole = if text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
        format!(".{text}")
    } else {
        text.to_owned()
    };
    FieldPath::parse(&whole).map_err(|error| {
        Failure::bad_input(format!("`{text}`: {error}"))
            .with_help("write fields as `.spec.replicas`, `.spec.jobs[*].probe` or `.spec['a.b']`")
    })
}

fn unknown(error: &ExplainError) -> Failure {
    let failure = Failure::bad_input(error.to_string());
    let ExplainError::NoField {
        unknown: Some((step, known)),
        ..
    } = error
    else {
        return failure;
    };
    match suggestion(step, known.iter().map(String::as_str)) {
        Some(close) => failure.with_help(format!("did you mean `{close}`?")),
        None if known.is_empty() => failure,
        None => failure.with_help(format!("there are {}", known.join(", "))),
    }
}

fn as_text(definition: &str, told: &Explanation) -> String {
    let mut text = format!("{} of {definition}, in {}\n", told.path, told.version);
    if told.gates.is_empty() {
        text.push_str("no gate has a say\n");
    } else {
        let headers = ["AT", "GATE", "STAGE", "STATE", "RULE", "PATH"];
        let row = |affecting: &AffectingGate| {
            vec![
                affecting.position.as_str().to_owned(),
                affecting.gate.clone(),
                affecting.stage.as_str().to_owned(),
                word(affecting.is_enabled).to_owned(),
                affecting.rule.as_str().to_owned(),
                affecting.path.to_string(),
            ]
        };
        text.push_str(&output::table(&headers, told.gates.iter().map(row)));
    }
    text.push_str(&format!(
        "create  {}\nupdate  {}\n",
        told.create, told.update
    ));
    text
}

fn as_document(definition: &str, told: &Explanation) -> Value {
    let gate = |affecting: &AffectingGate| {
        json!({
            "at": affecting.position.as_str(),
            "gate": affecting.gate,
            "stage": affecting.stage.as_str(),
            "enabled": affecting.is_enabled,
            "rule": affecting.rule.as_str(),
            "path": affecting.path.to_string(),
        })
    };
    let gates: Vec<Value> = told.gates.iter().map(gate).collect();
    let fields = json!({
        "crd": definition,
        "path": told.path.to_string(),
        "version": told.version,
        "gates": gates,
        "create": told.create,
        "update": told.update,
    });
    output::document("FieldGateExplanation", fields)
}
