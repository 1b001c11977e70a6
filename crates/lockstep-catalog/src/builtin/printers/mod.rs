//! Table columns of workloads, network, storage and cluster resources, as upstream's printers show them.

mod cluster;
mod network;
mod pods;
mod storage;
mod workloads;

use lockstep_object::metadata::Seconds;
use lockstep_object::selector::from_label_selector;
use lockstep_object::{Object, Value};

use crate::Column;

/// The text of an empty cell.
const NONE: &str = "<none>";
const UNSET: &str = "<unset>";
/// The maximum number of list items in a cell.
const SHOWN_MAX: usize = 3;

type Cell = fn(&Object, Seconds) -> Value;
/// A resource and its columns.
pub(super) type Table = ((&'static str, &'static str), Vec<Column>);

/// The columns of all these resources.
pub(super) fn tables() -> impl Iterator<Item = Table> {
    let pods = [(("", "pods"), pods::columns())];
    let tables = pods.into_iter().chain(workloads::tables());
    let tables = tables.chain(network::tables());
    tables.chain(storage::tables()).chain(cluster::tables())
}

fn show(name: &str, description: &str, cell: Cell) -> Column {
    Column::computed(name, description, cell)
}

fn count(name: &str, description: &str, cell: Cell) -> Column {
    Column {
        column_type: "integer".into(),
        ..show(name, description, cell)
    }
}

fn truth(name: &str, description: &str, cell: Cell) -> Column {
    Column {
        column_type: "boolean".into(),
        ..show(name, description, cell)
    }
}

fn at<'o>(object: &'o Object, path: &[&str]) -> &'o Value {
    object.at(path).unwrap_or(&Value::Null)
}

fn text<'o>(object: &'o Object, path: &[&str]) -> &'o str {
    at(object, path).as_str().unwrap_or_default()
}

fn number(object: &Object, path: &[&str]) -> i64 {
    at(object, path).as_i64().unwrap_or_default()
}

fn list<'o>(object: &'o Object, path: &[&str]) -> &'o [Value] {
    at(object, path)
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// A string, or `none` if it is empty.
fn or<'t>(text: &'t str, none: &'t str) -> Value {
    if text.is_empty() {
        none.into()
    } else {
        text.into()
    }
}

/// Formats labels as `a=b,c=d`.
fn labels(labels: &Value) -> String {
    let entries = labels.as_object().into_iter().flatten();
    let pairs = entries.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    match pairs.collect::<Vec<_>>().join(",") {
        none if none.is_empty() => NONE.to_owned(),
        pairs => pairs,
    }
}

/// Formats a label selector.
fn selector(selector: &Value) -> String {
    match from_label_selector(selector) {
        Err(_) => "<error>".to_owned(),
        Ok(selector) => match selector.to_string() {
            none if none.is_empty() => NONE.to_owned(),
            text => text,
        },
    }
}

/// Joins the first items, and appends the number of omitted ones.
fn first_few(all: &[String], most: usize, joined_by: &str) -> String {
    let shown = &all[..all.len().min(most)];
    match all.len() - shown.len() {
        0 if shown.is_empty() => UNSET.to_owned(),
        0 => shown.join(joined_by),
        more => format!("{} + {more} more...", shown.join(joined_by)),
    }
}

/// The status of a condition; none if the condition is absent.
fn condition<'o>(object: &'o Object, name: &str) -> Option<&'o str> {
    let mut conditions = list(object, &["status", "conditions"]).iter();
    let found = conditions.find(|condition| condition["type"] == name)?;
    found["status"].as_str()
}

/// Columns of pod templates, for `-o wide`.
fn template_columns() -> [Column; 2] {
    [
        show("Containers", "Its containers.", |object, _| {
            containers(object, "name").into()
        })
        .wide(),
        show("Images", "The images that they run.", |object, _| {
            containers(object, "image").into()
        })
        .wide(),
    ]
}

/// A field of all containers of the pod template.
fn containers(object: &Object, field: &str) -> String {
    const PLACES: [&[&str]; 3] = [
        &["spec", "template", "spec", "containers"],
        &[
            "spec",
            "jobTemplate",
            "spec",
            "template",
            "spec",
            "containers",
        ],
        &["template", "spec", "containers"],
    ];
    let containers = PLACES.iter().flat_map(|place| list(object, place));
    let fields = containers.map(|container| container[field].as_str().unwrap_or_default());
    fields.collect::<Vec<_>>().join(",")
}
