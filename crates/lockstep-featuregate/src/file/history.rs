//! Release histories: one snapshot a released patch.
//!
//! `[{version: "1.2.3", features: [{name, level: server|cluster, preRelease, default, lockToDefault,
//! dataFields: [names], migration: name}]}]`.

use serde_json::Value;

use super::{
    cursor::{Cursor, Node},
    read_stage,
};
use crate::{
    BinaryVersion, Errors, RegistrationError, Scope, errors,
    lint::{Release, ReleasedFeature},
};

/// Reads the snapshots that [`crate::lint::lint_history`] compares.
pub fn read_history(document: &Value) -> Result<Vec<Release>, Errors<RegistrationError>> {
    let mut cursor = Cursor::default();
    let releases = cursor.items(&Node::root(document));
    let releases = releases
        .iter()
        .filter_map(|node| read_release(&mut cursor, node))
        .collect();
    errors::check(cursor.errors).map(|()| releases)
}

fn read_release(cursor: &mut Cursor, node: &Node<'_>) -> Option<Release> {
    cursor.only_keys(node, &["version", "features"]);
    let version = cursor.required(node, "version", |cursor, node| {
        cursor.parsed(node, BinaryVersion::parse)
    });
    let features = cursor.required(node, "features", Cursor::list)?;
    let features = features
        .iter()
        .filter_map(|node| read_feature(cursor, node))
        .collect();
    Some(Release {
        version: version?,
        features,
    })
}

const KEYS: &[&str] = &[
    "name",
    "level",
    "preRelease",
    "default",
    "lockToDefault",
    "dataFields",
    "migration",
];

fn read_feature(cursor: &mut Cursor, node: &Node<'_>) -> Option<(String, ReleasedFeature)> {
    cursor.only_keys(node, KEYS);
    let name = cursor.required(node, "name", Cursor::text);
    let level = cursor.required(node, "level", read_level);
    let stage = cursor.required(node, "preRelease", read_stage);
    let default = cursor.required(node, "default", Cursor::bool);
    let locked = cursor
        .optional(node, "lockToDefault", Cursor::bool)
        .unwrap_or_default();
    let data_fields = cursor.optional(node, "dataFields", |cursor, node| Some(cursor.texts(node)));
    let data_fields = data_fields
        .unwrap_or_default()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let migration = cursor
        .optional(node, "migration", Cursor::text)
        .map(str::to_owned);
    let (level, stage, default) = (level?, stage?, default?);
    let feature = ReleasedFeature {
        level,
        stage,
        default,
        locked,
        data_fields,
        migration,
    };
    Some((name?.to_owned(), feature))
}

fn read_level(cursor: &mut Cursor, node: &Node<'_>) -> Option<Scope> {
    match cursor.text(node)? {
        "server" => Some(Scope::Process),
        "cluster" => Some(Scope::Cluster),
        _ => {
            cursor.expected(node, "`server` or `cluster`");
            None
        }
    }
}
