//! Policies and everything around them, from files.

use std::path::PathBuf;
use std::sync::Arc;

use lockstep_authz::{Authorizer, Decision, Policies};
use lockstep_object::{Object, field::FieldError};
use lockstep_write::offline::policies::{Rejection, Unbound, Workspace, WorkspaceError};

use super::locate::{self, Position};
use crate::{
    failure::{Exit, Failure},
    manifests::{self, Manifest},
    output,
};

/// Reads all objects of files and directories.
pub(super) fn read(places: &[PathBuf]) -> Result<Vec<Manifest>, Failure> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let manifests = manifests::read(places)?;
    let mut told = std::collections::BTreeSet::new();
    for manifest in &manifests {
        for (line, what) in manifest.source.duplicates.iter() {
            let place = format!("{}:{line}", manifest.path.display());
            if told.insert(place.clone()) {
                output::tell(&format!("warning: {place}: {what}; the last one counts\n"));
            }
        }
    }
    Ok(manifests)
}

/// The objects of manifests, in the same order.
pub(super) fn objects(manifests: &[Manifest]) -> Result<Vec<Object>, Failure> {
    let objects = manifests.iter().map(|manifest| {
        let object = Object::from_value(manifest.value.clone());
        object.map_err(|_| manifest.wrong(&"expected an object"))
    });
    objects.collect()
}

/// A workspace of manifests. Errors name file, line and column.
pub(super) fn workspace(manifests: &[Manifest], unbound: Unbound) -> Result<Workspace, Failure> {
    let objects = objects(manifests)?;
    Workspace::new(&objects, unbound).map_err(|error| match error {
        WorkspaceError::Rejected(rejections) => rejected(manifests, &rejections),
        error => Failure::bad_input(error.to_string()),
    })
}

/// The authorizer that `--authorizer` names: `allow`, `deny` or `rbac:DIR`.
pub(super) fn authorizer(
    answers: Option<&str>,
    workspace: &Workspace,
) -> Result<Authorizer, Failure> {
    match answers {
        None if workspace.uses_authorizer() => Err(Failure::bad_input(
            "a policy asks the authorizer, and --authorizer is not given",
        )
        .with_help("add --authorizer allow, --authorizer deny or --authorizer rbac:DIR")),
        None | Some("deny") => Ok(Arc::new(|_| Decision::no_opinion())),
        Some("allow") => Ok(Arc::new(|_| Decision::allow(""))),
        Some(text) => {
            let folder = text.strip_prefix("rbac:").ok_or_else(|| {
                Failure::bad_input(format!("--authorizer {text:?} is unknown"))
                    .with_help("write allow, deny or rbac:DIR")
            })?;
            let manifests = read(&[PathBuf::from(folder)])?;
            let mut policies = Policies::default();
            for object in objects(&manifests)? {
                policies.put(&object);
            }
            Ok(Arc::new(move |attributes| policies.authorize(attributes)))
        }
    }
}

fn rejected(manifests: &[Manifest], rejections: &[Rejection]) -> Failure {
    let blocks = rejections.iter().flat_map(|rejection| {
        let manifest = &manifests[rejection.index];
        rejection.fields.iter().map(|error| block(manifest, error))
    });
    let blocks: Vec<String> = blocks.collect();
    let message = blocks.join("\nerror: ");
    Failure::of_causes(Exit::BadInput, &message, blocks)
}

/// Message, place and line of a field error.
fn block(manifest: &Manifest, error: &FieldError) -> String {
    let (summary, inside) = summary(&error.detail, &error.body());
    let path = manifest.path.display();
    let field = &error.field;
    let Some(place) = locate::find(&manifest.source, field, inside) else {
        return format!("{summary}\n  --> {path}   {field}");
    };
    let Position { line, column } = place;
    let own = line - 1 - manifest.source.lines_before;
    let text = manifest.source.text.lines().nth(own).unwrap_or_default();
    let margin = " ".repeat(line.to_string().len());
    let dots = " ".repeat(column - 1);
    format!(
        "{summary}\n{margin} --> {path}:{line}:{column}   {field}\n{margin} |\n{line} | {text}\n{margin} | {dots}^"
    )
}

/// The first problem of an expression without its frame, and its place in the expression; the first line of `whole` if
/// it is about another thing.
pub(super) fn summary(detail: &str, whole: &str) -> (String, Option<Position>) {
    let Some((_, rest)) = detail.split_once("ERROR: <input>:") else {
        let text = whole.lines().next().unwrap_or_default();
        return (text.to_owned(), None);
    };
    let mut parts = rest.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.trim().parse().ok());
    let (line, column) = (number(), number());
    let message = parts.next().unwrap_or_default();
    let message = message.trim().lines().next().unwrap_or_default().to_owned();
    let hint = detail
        .split_once("\nhint: ")
        .map(|(_, hint)| format!(" ({hint})"));
    let inside = line
        .zip(column)
        .map(|(line, column)| Position { line, column });
    (message + &hint.unwrap_or_default(), inside)
}
