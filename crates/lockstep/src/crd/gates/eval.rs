//! `lockstep crd gates eval`.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use lockstep_object::incoming::FieldValidation;
use lockstep_object::{ApiError, Object, Reason};
use lockstep_schema::storage_version;
use lockstep_write::offline::{Evaluated, Evaluation};
use serde_json::{Value, json};

use super::definition;
use crate::{
    failure::{Exit, Failure},
    manifests,
    output::{self, Format},
};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep crd gates eval -f crd.yaml --new crontab.yaml\n  lockstep crd gates eval -f crd.yaml --new wanted.yaml --old stored.yaml -o json\n  lockstep crd gates eval -f crd.yaml --new wanted.yaml --old stored.yaml --subresource status\n\nThe write runs through the write path of the server, on a store in memory, in the version that objects are stored in. Webhooks are not called. Exits with 1 if the write would be refused."
)]
pub(crate) struct Arguments {
    /// The file with the definition, `-` for standard input
    #[arg(long, short, value_name = "FILE", required = true)]
    filename: Vec<PathBuf>,
    /// The file with the object as the request has it
    #[arg(long, value_name = "FILE")]
    new: PathBuf,
    /// The file with the object as it is stored; without it the request is a create
    #[arg(long, value_name = "FILE")]
    old: Option<PathBuf>,
    /// The endpoint that is written to, if it is not that of the object
    #[arg(long, value_name = "NAME", requires = "old")]
    subresource: Option<Subresource>,
    /// Validation of fields that the schema does not know
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    validate: Level,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    output: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Subresource {
    Status,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Level {
    Strict,
    Warn,
    Ignore,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let definition = arguments.definition()?;
    if let Some(refusal) = definition::refusal(&definition) {
        return Err(refusal);
    }
    let wrong = |what: &str| Failure::bad_input(format!("{}: {what}", definition.name()));
    let new = object(&arguments.new, &definition)?;
    let old = arguments.old.as_deref();
    let old = old.map(|path| object(path, &definition)).transpose()?;
    let field_validation = match arguments.validate {
        Level::Strict => FieldValidation::Strict,
        Level::Warn => FieldValidation::Warn,
        Level::Ignore => FieldValidation::Ignore,
    };
    let evaluation = Evaluation {
        definition: &definition,
        new: &new,
        old: old.as_ref(),
        subresource: match arguments.subresource {
            Some(Subresource::Status) => "status",
            None => "",
        },
        field_validation,
    };
    let answer = evaluation
        .run()
        .map_err(|error| wrong(&error.to_string()))?;
    output::data(&match arguments.output {
        Format::Table => as_text(&answer),
        format => format.render(&as_document(&answer)),
    });
    Ok(if answer.error.is_none() {
        Exit::Yes
    } else {
        Exit::No
    })
}

impl Arguments {
    /// The one definition in the files.
    fn definition(&self) -> Result<Object, Failure> {
        let mut definitions = definition::read(&self.filename)?;
        match (definitions.pop(), definitions.len()) {
            (Some(definition), 0) => Ok(definition),
            (_, more) => {
                let message = format!("{} definitions given, and one is wanted", more + 1);
                Err(Failure::bad_input(message))
            }
        }
    }
}

/// The one object in a file, which is of the definition and of the version that is stored.
fn object(path: &Path, definition: &Object) -> Result<Object, Failure> {
    let mut found = manifests::read(&[path.to_owned()])?;
    let wrong =
        |what: &dyn std::fmt::Display| Failure::bad_input(format!("{}: {what}", path.display()));
    if found.len() > 1 {
        return Err(wrong(&"several objects, and one is wanted"));
    }
    let found = found
        .pop()
        .and_then(|one| Object::from_value(one.value).ok());
    let object = found.ok_or_else(|| wrong(&"no object in it"))?;
    let text = |path: &[&str]| {
        let text = definition.at(path).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let (group, kind) = (text(&["spec", "group"]), text(&["spec", "names", "kind"]));
    let version = storage_version(definition).unwrap_or_default();
    let wanted = format!("{group}/{version}");
    let is_group = object
        .gvk()
        .is_some_and(|gvk| *gvk.group == *group && *gvk.kind == *kind);
    if !is_group {
        let (own, own_kind) = (object.api_version(), object.kind());
        let told =
            format!("it is a {own_kind} of {own}, and the definition is of {kind} of {wanted}");
        return Err(wrong(&told));
    }
    if object.api_version() != wanted {
        let told = format!(
            "it is of {}, and gates act in the version that is stored, {wanted}",
            object.api_version()
        );
        return Err(wrong(&told).with_help(format!("write it as {wanted}; nothing is converted")));
    }
    Ok(object)
}

fn as_document(answer: &Evaluated) -> Value {
    let actions = answer
        .actions
        .iter()
        .map(|done| json!({ "gate": done.gate, "path": done.path, "action": done.action }));
    let actions: Vec<Value> = actions.collect();
    let fields = json!({
        "allowed": answer.error.is_none(),
        "object": answer.object.as_ref().map(Object::as_value),
        "generationChanged": answer.is_new_generation,
        "warnings": answer.warnings,
        "actions": actions,
        "errors": errors(answer),
    });
    output::document("FieldGateEvaluation", fields)
}

/// Errors in the form of the causes of a `Status`.
fn errors(answer: &Evaluated) -> Vec<Value> {
    match &answer.error {
        None => Vec::new(),
        Some(ApiError::Invalid(invalid)) => {
            let cause = |error: &lockstep_object::field::FieldError| {
                json!({
                    "reason": error.error_type.reason(),
                    "field": error.field,
                    "message": error.to_string(),
                })
            };
            invalid.errors.iter().map(cause).collect()
        }
        Some(error) => {
            vec![
                json!({ "reason": error.reason().map_or("", Reason::as_str), "message": error.to_string() }),
            ]
        }
    }
}

fn as_text(answer: &Evaluated) -> String {
    let mut text = match (&answer.error, answer.is_new_generation) {
        (None, true) => "allowed, with a new generation\n".to_owned(),
        (None, false) => "allowed, the generation stays\n".to_owned(),
        (Some(_), _) => "refused\n".to_owned(),
    };
    for error in errors(answer) {
        let message = error["message"].as_str().unwrap_or_default();
        text.push_str(&format!("✗ error  {message}\n"));
    }
    for warning in &answer.warnings {
        text.push_str(&format!("! warn   {warning}\n"));
    }
    if !answer.actions.is_empty() {
        let rows = answer.actions.iter().map(|done| {
            let action = done.action.to_owned();
            vec![done.gate.clone(), action, done.path.clone()]
        });
        text.push_str(&output::table(&["GATE", "ACTION", "PATH"], rows));
    }
    text
}
