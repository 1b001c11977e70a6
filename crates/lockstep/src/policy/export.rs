//! `lockstep policy export` and `lockstep policy convert`.

use std::path::PathBuf;

use clap::ValueEnum;
use lockstep_admission::api::{ApiKind, GROUP, convert_early_shape};
use lockstep_admission::policy::PolicyKind;
use lockstep_object::{Object, Value};
use lockstep_write::offline::policies::{Unbound, Workspace};
use serde_json::json;

use super::input;
use crate::failure::{Exit, Failure};
use crate::manifests::Manifest;
use crate::{document, output};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy export policies/ --target upstream > upstream.yaml\n  lockstep policy export policies/ --target upstream --strict\n\nFields that only Lockstep has are dropped; each guarantee that is lost with one is told on standard error. A mutation\nwith `apply` becomes an applyConfiguration where that means the same. Ends with 1 with --strict if anything is lost,\nand with 2 if a policy has no form upstream."
)]
pub(crate) struct Arguments {
    /// Files or directories with policies and bindings, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The server that is to accept the policies
    #[arg(long, value_name = "TARGET")]
    target: Target,
    /// A lost guarantee is an error
    #[arg(long)]
    strict: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Target {
    /// A kube-apiserver
    Upstream,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  lockstep policy convert design.yaml --to v1\n  lockstep policy convert policies/ --to v1beta1 | kubectl apply -f -\n\nAll versions have the same fields. The early shape of paramKind (group, version, kind) becomes apiVersion and kind, and\ndefaults that only v1alpha1 has are written out."
)]
pub(crate) struct ConvertArguments {
    /// Files or directories with policies and bindings, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The version to convert to
    #[arg(long, value_name = "VERSION", default_value = "v1")]
    to: Version,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Version {
    V1,
    V1beta1,
    V1alpha1,
}

impl Version {
    fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1beta1 => "v1beta1",
            Self::V1alpha1 => "v1alpha1",
        }
    }
}

pub(crate) fn convert(arguments: &ConvertArguments, quiet: bool) -> Result<Exit, Failure> {
    let manifests = input::read(&arguments.files)?;
    let mut converted = Vec::new();
    for manifest in &manifests {
        let mut object = object(manifest)?;
        let Some(kind) = ApiKind::of(&object) else {
            converted.push(object);
            continue;
        };
        let is_alpha = object.api_version().ends_with("/v1alpha1");
        if convert_early_shape(&mut object) && !quiet {
            let name = object.name();
            output::tell(&format!("{name}: spec.paramKind has apiVersion now\n"));
        }
        let param_ref = object
            .fields_mut()
            .get_mut("spec")
            .and_then(|spec| spec.get_mut("paramRef"));
        if let (ApiKind::Binding(_), true, Some(Value::Object(fields))) =
            (kind, is_alpha, param_ref)
            && !fields.contains_key("parameterNotFoundAction")
        {
            fields.insert("parameterNotFoundAction".to_owned(), "Deny".into());
            if !quiet {
                let name = object.name();
                output::tell(&format!(
                    "{name}: spec.paramRef.parameterNotFoundAction is Deny, the default of v1alpha1\n"
                ));
            }
        }
        let api_version = format!("{GROUP}/{}", arguments.to.as_str());
        let fields = object.fields_mut();
        fields.insert("apiVersion".to_owned(), api_version.into());
        converted.push(object);
    }
    check(&converted)?;
    print(&converted);
    Ok(Exit::Yes)
}

pub(crate) fn export(arguments: &Arguments, quiet: bool) -> Result<Exit, Failure> {
    let Target::Upstream = arguments.target;
    let manifests = input::read(&arguments.files)?;
    let mut exported = Vec::new();
    let mut lost = Vec::new();
    for manifest in &manifests {
        let mut object = object(manifest)?;
        convert_early_shape(&mut object);
        if let Some(kind) = ApiKind::of(&object) {
            let name = object.name().to_owned();
            let mut notes = Vec::new();
            let done = upstream(kind, &mut object, &mut notes);
            done.map_err(|why| manifest.wrong(&format!("{name}: {why}")))?;
            lost.extend(notes.into_iter().map(|note| format!("{name}: {note}")));
        }
        exported.push(object);
    }
    check(&exported)?;
    print(&exported);
    if !quiet || arguments.strict {
        for note in &lost {
            output::tell(&format!("lost: {note}\n"));
        }
    }
    Ok(if arguments.strict && !lost.is_empty() {
        Exit::No
    } else {
        Exit::Yes
    })
}

fn object(manifest: &Manifest) -> Result<Object, Failure> {
    let object = Object::from_value(manifest.value.clone());
    object.map_err(|_| manifest.wrong(&"expected an object"))
}

/// Refuses to write policies that are not valid.
fn check(objects: &[Object]) -> Result<(), Failure> {
    let policies: Vec<Object> = objects
        .iter()
        .filter(|object| ApiKind::of(object).is_some())
        .cloned()
        .collect();
    if policies.is_empty() {
        return Err(Failure::bad_input(
            "the files have no policy and no binding",
        ));
    }
    let checked = Workspace::new(&policies, Unbound::Inert);
    checked
        .map(drop)
        .map_err(|error| Failure::bad_input(error.to_string()))
}

fn print(objects: &[Object]) {
    let texts: Vec<String> = objects
        .iter()
        .map(|object| document::to_yaml(object.as_value()))
        .collect();
    output::data(&texts.join("---\n"));
}

/// Drops fields that upstream does not have, and notes what is lost with each.
fn upstream(kind: ApiKind, object: &mut Object, lost: &mut Vec<String>) -> Result<(), String> {
    let Some(spec) = object.fields_mut().get_mut("spec") else {
        return Ok(());
    };
    match kind {
        ApiKind::Policy(PolicyKind::Validating) | ApiKind::Binding(PolicyKind::Validating) => {
            Ok(())
        }
        ApiKind::Binding(PolicyKind::Mutating) => match remove(spec, "enforcement") {
            Some(Value::String(mode)) if mode == "DryRun" => Err(
                "spec.enforcement: a dry run has no form upstream, and without the field the \
                 binding would change objects; leave the binding out"
                    .to_owned(),
            ),
            _ => Ok(()),
        },
        ApiKind::Policy(PolicyKind::Mutating) => policy(spec, lost),
    }
}

fn policy(spec: &mut Value, lost: &mut Vec<String>) -> Result<(), String> {
    lost.push(
        "order: upstream runs policies in no order; policies that depend on one another need \
         reinvocationPolicy: IfNeeded"
            .to_owned(),
    );
    let is_precise = spec["reinvocationPolicy"] == "IfAffected";
    let all_apply = spec["mutations"]
        .as_array()
        .is_some_and(|all| all.iter().all(|mutation| mutation["apply"].is_string()));
    if is_precise || all_apply && spec["reinvocationPolicy"].is_null() {
        spec["reinvocationPolicy"] = "IfNeeded".into();
        lost.push(
            "spec.reinvocationPolicy: IfAffected becomes IfNeeded, which also runs a policy again \
             after its own change"
                .to_owned(),
        );
    }
    if remove(spec, "reinvocationLimit").is_some() {
        lost.push("spec.reinvocationLimit: upstream runs a policy at most twice".to_owned());
    }
    if remove(spec, "convergencePolicy").is_some() {
        lost.push("spec.convergencePolicy: policies that fight are not found".to_owned());
    }
    if remove(spec, "mutationValidationPolicy").is_some() {
        lost.push("spec.mutationValidationPolicy: undone mutations are not found".to_owned());
    }
    let Some(mutations) = spec.get_mut("mutations").and_then(Value::as_array_mut) else {
        return Ok(());
    };
    for (at, mutation) in mutations.iter_mut().enumerate() {
        let field = format!("spec.mutations[{at}]");
        remove(mutation, "name");
        if remove(mutation, "safety").is_some() {
            lost.push(format!(
                "{field}.safety: whether the mutation was undone is not checked"
            ));
        }
        if remove(mutation, "scope").is_some() {
            lost.push(format!(
                "{field}.scope: writes outside of the scope are not refused"
            ));
        }
        if let Some(configuration) = mutation.get_mut("applyConfiguration") {
            let replaces = remove(configuration, "atomics");
            let removes = remove(configuration, "unset");
            if replaces.is_some_and(|mode| mode == "Replace") {
                return Err(format!(
                    "{field}.applyConfiguration.atomics: upstream refuses atomic values; use jsonPatch"
                ));
            }
            if removes.is_some_and(|mode| mode == "Remove") {
                return Err(format!(
                    "{field}.applyConfiguration.unset: upstream removes nothing in a merge; use jsonPatch"
                ));
            }
        }
        if let Some(apply) = remove(mutation, "apply") {
            let expression = merged(apply.as_str().unwrap_or_default())
                .map_err(|why| format!("{field}.apply: {why}; use jsonPatch"))?;
            mutation["patchType"] = "ApplyConfiguration".into();
            mutation["applyConfiguration"] = json!({ "expression": expression });
            lost.push(format!(
                "{field}.apply: as an applyConfiguration it is refused where it sets an atomic value, and \
                 adds to sets instead of replacing them"
            ));
        }
    }
    Ok(())
}

/// An expression of `apply` as one of `applyConfiguration`; an error if it has no such form.
fn merged(apply: &str) -> Result<String, &'static str> {
    let dense: String = apply.chars().filter(|c| !c.is_whitespace()).collect();
    if dense.contains("{?") || dense.contains(",?") || apply.contains("optional.none") {
        return Err("an optional entry removes what it does not set, and upstream removes nothing");
    }
    if apply.contains("objects.") {
        return Err("upstream does not have the functions of objects");
    }
    if has_word(apply, "storedObject") || has_word(apply, "self") {
        return Err("upstream does not have storedObject and self");
    }
    // In `apply` it is the current object, which upstream calls object.
    let current = apply.replace("oldObject", "object");
    Ok(current.replace(".item{", "{"))
}

/// True if a text has a word that is no part of a longer one.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part)
    })
}

fn remove(value: &mut Value, field: &str) -> Option<Value> {
    let fields = value.as_object_mut()?;
    fields.remove(field).filter(|value| !value.is_null())
}
