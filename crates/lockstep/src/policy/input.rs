//! Policies and everything around them, from files.

use std::path::PathBuf;

use lockstep_object::{Object, field::FieldError};
use lockstep_write::offline::policies::{Rejection, Unbound, Workspace, WorkspaceError};

use super::locate::{self, Position};
use crate::{
    failure::{Exit, Failure},
    manifests::{self, Manifest},
};

/// Reads all objects of files and directories.
pub(super) fn read(places: &[PathBuf]) -> Result<Vec<Manifest>, Failure> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    manifests::read(places)
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
    let (summary, inside) = summary(error);
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

/// The first problem of an expression without its frame, and its place in the expression.
fn summary(error: &FieldError) -> (String, Option<Position>) {
    let detail = error.detail.as_str();
    let Some((_, rest)) = detail.split_once("ERROR: <input>:") else {
        let text = error.body();
        let text = text.lines().next().unwrap_or_default();
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
