//! Registry files: upstream's list of histories, or components with everything about them.
//!
//! The list is `[{name, versionedSpecs: [{version, default, lockToDefault, preRelease,
//! minCompatibilityVersion}]}]`; entries may add `component`, `description`, `owner`, `links`, `api`,
//! `dependsOn`, `scope`. The larger form is `{components: {kube: {binaryVersion, emulationFloor,
//! minCompatibilityFloor, features: [the list], dependencies: {F: [D]}, tombstones: [{name,
//! removedIn, lockedSince, lockedTo}], foreign: [names]}}}`.
//!
//! All errors of a file are reported together, each with its path. Unknown keys are errors.

mod cursor;
mod history;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{
    BinaryVersion, Component, DEFAULT_COMPONENT, Entry, Errors, Feature, NAME_LENGTH_MAX,
    RegistrationError, Scope, Stage, Tombstone, Version, VersionError, errors,
};
use cursor::{Cursor, Node};
pub use history::read_history;

/// Reads the components of a registry file. `binary` is the version of components without their own. Dependencies
/// are recorded; [`crate::Registry::new`] validates them.
pub fn read_components(
    document: &Value,
    binary: BinaryVersion,
) -> Result<Vec<Component>, Errors<RegistrationError>> {
    let mut cursor = Cursor::default();
    let root = Node::root(document);
    let components = match document {
        Value::Array(_) => read_list(&root, binary, &mut cursor),
        Value::Object(_) => read_named(&root, binary, &mut cursor),
        _ => {
            cursor.expected(&root, "a list of features, or a map with `components`");
            Vec::new()
        }
    };
    errors::check(cursor.errors).map(|()| components)
}

/// Upstream's format: one list, each feature may name its component.
fn read_list(root: &Node<'_>, binary: BinaryVersion, cursor: &mut Cursor) -> Vec<Component> {
    let mut components = BTreeMap::new();
    for node in cursor.items(root) {
        let component = cursor.optional(&node, "component", Cursor::text);
        let name = component.unwrap_or(DEFAULT_COMPONENT);
        if !check_component_name(name, &node, cursor) {
            continue;
        }
        let home = components.entry(name.to_owned());
        let home = home.or_insert_with(|| Component::new(name, binary));
        read_feature(&node, home, cursor);
    }
    components.into_values().collect()
}

/// Our format: components with versions, features and dependencies.
fn read_named(root: &Node<'_>, binary: BinaryVersion, cursor: &mut Cursor) -> Vec<Component> {
    cursor.only_keys(root, &["components"]);
    let Some(components) = cursor.required(root, "components", Cursor::map) else {
        return Vec::new();
    };
    let mut read = Vec::new();
    for (name, node) in components {
        if check_component_name(name, &node, cursor) {
            read.push(read_component(name, &node, binary, cursor));
        }
    }
    read
}

/// A component name precedes a colon or an equals sign on the command line, so neither may be in it.
fn check_component_name(name: &str, node: &Node<'_>, cursor: &mut Cursor) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let valid = !name.is_empty() && name.len() <= NAME_LENGTH_MAX && name.bytes().all(allowed);
    if !valid {
        cursor.expected(
            node,
            "a component name of letters, digits, `.`, `_` and `-`",
        );
    }
    valid
}

const COMPONENT_KEYS: &[&str] = &[
    "binaryVersion",
    "emulationFloor",
    "minCompatibilityFloor",
    "features",
    "dependencies",
    "tombstones",
    "foreign",
];

fn read_component(
    name: &str,
    node: &Node<'_>,
    binary: BinaryVersion,
    cursor: &mut Cursor,
) -> Component {
    cursor.only_keys(node, COMPONENT_KEYS);
    let own = cursor.optional(node, "binaryVersion", |cursor, node| {
        cursor.parsed(node, BinaryVersion::parse)
    });
    let mut component = Component::new(name, own.unwrap_or(binary));
    if let Some(floor) = cursor.optional(node, "emulationFloor", read_version) {
        component = component.with_emulation_floor(floor);
    }
    if let Some(floor) = cursor.optional(node, "minCompatibilityFloor", read_version) {
        component = component.with_min_compatibility_floor(floor);
    }
    for feature in cursor
        .optional(node, "features", Cursor::list)
        .unwrap_or_default()
    {
        read_feature(&feature, &mut component, cursor);
    }
    for (feature, on) in cursor
        .optional(node, "dependencies", Cursor::map)
        .unwrap_or_default()
    {
        component.depend(feature, cursor.texts(&on));
    }
    for tombstone in cursor
        .optional(node, "tombstones", Cursor::list)
        .unwrap_or_default()
    {
        read_tombstone(&tombstone, &mut component, cursor);
    }
    if let Some(names) = cursor.optional(node, "foreign", |cursor, node| Some(cursor.texts(node))) {
        component.add_foreign(names);
    }
    component
}

const FEATURE_KEYS: &[&str] = &[
    "name",
    "versionedSpecs",
    "component",
    "description",
    "owner",
    "links",
    "api",
    "dependsOn",
    "scope",
];
const ENTRY_KEYS: &[&str] = &[
    "version",
    "default",
    "lockToDefault",
    "preRelease",
    "minCompatibilityVersion",
];

fn read_feature(node: &Node<'_>, component: &mut Component, cursor: &mut Cursor) {
    let Some(name) = cursor.required(node, "name", Cursor::text) else {
        return;
    };
    let errors_before = cursor.errors.len();
    let mut feature = Feature::new(name.to_owned(), read_entries(name, node, cursor));
    let mut text = |key| {
        cursor
            .optional(node, key, Cursor::text)
            .unwrap_or_default()
            .to_owned()
    };
    feature.description = text("description").into();
    feature.owner = text("owner").into();
    feature.api = cursor
        .optional(node, "api", Cursor::bool)
        .unwrap_or_default();
    feature.scope = cursor
        .optional(node, "scope", read_scope)
        .unwrap_or_default();
    let list = |cursor: &mut Cursor, key| {
        cursor
            .optional(node, key, |cursor, node| Some(cursor.texts(node)))
            .unwrap_or_default()
    };
    feature.links = list(cursor, "links")
        .into_iter()
        .map(|link: &str| link.to_owned().into())
        .collect();
    let depends_on = list(cursor, "dependsOn");
    if cursor.errors.len() > errors_before {
        return; // a history read in part would be blamed for what is missing
    }
    match component.add(feature) {
        Ok(()) => component.depend(name, depends_on),
        Err(refused) => cursor.errors.extend(refused),
    }
}

/// A list of versioned entries, or one inline entry without a version.
fn read_entries(name: &str, node: &Node<'_>, cursor: &mut Cursor) -> Vec<Entry> {
    let Some(list) = node.get("versionedSpecs") else {
        let in_place = &ENTRY_KEYS[1..4];
        cursor.only_keys(node, &[FEATURE_KEYS, in_place].concat());
        return read_entry(node, Some(Version::ZERO), None, cursor)
            .into_iter()
            .collect();
    };
    cursor.only_keys(node, FEATURE_KEYS);
    let mut entries = Vec::new();
    for node in cursor.items(&list) {
        cursor.only_keys(&node, ENTRY_KEYS);
        if node.get("version").is_none() {
            cursor.history(name, "did not provide a version");
            continue;
        }
        let mut version = |key, what: &str| {
            cursor.optional(&node, key, |cursor, node| {
                read_history_version(name, what, node, cursor)
            })
        };
        let held_from = version("version", "patch version");
        let min = version("minCompatibilityVersion", "patch MinCompatibilityVersion");
        entries.extend(read_entry(&node, held_from, min, cursor));
    }
    entries
}

fn read_entry(
    node: &Node<'_>,
    version: Option<Version>,
    min_compatibility: Option<Version>,
    cursor: &mut Cursor,
) -> Option<Entry> {
    let stage = cursor.required(node, "preRelease", read_stage);
    let default = cursor
        .optional(node, "default", Cursor::bool)
        .unwrap_or_default();
    let lock_to_default = cursor
        .optional(node, "lockToDefault", Cursor::bool)
        .unwrap_or_default();
    Some(Entry {
        version: version?,
        default,
        lock_to_default,
        stage: stage?,
        min_compatibility,
    })
}

fn read_tombstone(node: &Node<'_>, component: &mut Component, cursor: &mut Cursor) {
    cursor.only_keys(node, &["name", "removedIn", "lockedSince", "lockedTo"]);
    let name = cursor.required(node, "name", Cursor::text);
    let removed_in = cursor.required(node, "removedIn", read_version);
    let since = cursor.optional(node, "lockedSince", read_version);
    let value = cursor.optional(node, "lockedTo", Cursor::bool);
    if since.is_some() != value.is_some() {
        cursor.expected(node, "`lockedSince` and `lockedTo` together, or neither");
    }
    if let (Some(name), Some(removed_in)) = (name, removed_in) {
        component.add_tombstone(
            name,
            Tombstone {
                removed_in,
                locked: since.zip(value),
            },
        );
    }
}

fn read_version(cursor: &mut Cursor, node: &Node<'_>) -> Option<Version> {
    cursor.parsed(node, Version::parse)
}

/// A version in a history: two numbers, with a specific error for three.
fn read_history_version(
    name: &str,
    what: &str,
    node: &Node<'_>,
    cursor: &mut Cursor,
) -> Option<Version> {
    let text = cursor.version_text(node)?;
    let parts = text.split('.').count();
    match Version::parse(text) {
        Ok(version) if parts == 2 => Some(version),
        Ok(_) | Err(VersionError::Patch(_)) => {
            cursor.history(name, &format!("specified {what}: {text}"));
            None
        }
        Err(error) => {
            cursor.problem(node, error.to_string());
            None
        }
    }
}

fn read_stage(cursor: &mut Cursor, node: &Node<'_>) -> Option<Stage> {
    let stage = Stage::from_name(cursor.text(node)?);
    if stage.is_none() {
        cursor.expected(node, "one of `Alpha`, `Beta`, `GA`, `Deprecated`");
    }
    stage
}

fn read_scope(cursor: &mut Cursor, node: &Node<'_>) -> Option<Scope> {
    let text = cursor.text(node)?;
    let scope = [Scope::Process, Scope::Cluster]
        .into_iter()
        .find(|scope| scope.name() == text);
    if scope.is_none() {
        cursor.expected(node, "`process` or `cluster`");
    }
    scope
}
