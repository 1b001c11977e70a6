//! `featuregates.lockstep.dev`: feature gates as objects that only the servers write.

use std::sync::{Arc, LazyLock};

use crate::{
    BucketKey, Column, Columns, Origin, Present, Resource, SelectableField, SpecialKind, Strategy,
    Subresource, Transform, Validate, Validation, Verb, Version, VersionIndex, Versions,
};
use lockstep_mvcc::Revision;
use lockstep_object::metadata::{Scope, StatusField};
use lockstep_object::{Object, Value};
use serde_json::json;

/// The group of Lockstep's own resources.
pub const GROUP: &str = "lockstep.dev";
/// The version.
pub const VERSION: &str = "v1alpha1";
/// The plural.
pub const PLURAL: &str = "featuregates";
/// The kind.
pub const KIND: &str = "FeatureGate";

/// The row of the resource.
pub fn resource() -> Resource {
    let version = Version {
        name: VERSION.into(),
        is_served: true,
        subresources: Vec::new(),
        deprecation: None,
    };
    Resource {
        group: GROUP.into(),
        plural: PLURAL.into(),
        singular: "featuregate".into(),
        kind: KIND.into(),
        list_kind: format!("{KIND}List").into(),
        short_names: vec!["fg".into()],
        categories: Vec::new(),
        scope: Scope::Cluster,
        verbs: &[Verb::Get, Verb::List, Verb::Watch],
        versions: Versions::new(vec![version], 0),
        bucket: BucketKey::new(format!("{GROUP}/{PLURAL}")),
        origin: Origin::Own,
        special: SpecialKind::Plain,
        schema_revision: Revision::NONE,
        is_terminating: false,
        strategy: Arc::new(FeatureGates),
    }
}

struct FeatureGates;

impl Strategy for FeatureGates {
    fn status(&self, _version: VersionIndex) -> StatusField {
        StatusField::Part
    }

    fn tracks_generation(&self) -> bool {
        false
    }
}

impl Transform for FeatureGates {
    fn prune_and_default(
        &self,
        _version: VersionIndex,
        _object: &mut Object,
        _old: Option<&Object>,
    ) -> Vec<String> {
        Vec::new()
    }
}

impl Validate for FeatureGates {
    fn validate(
        &self,
        _version: VersionIndex,
        _object: &Object,
        _old: Option<&Object>,
        _subresource: Option<Subresource>,
    ) -> Validation {
        Validation::default()
    }
}

impl Present for FeatureGates {
    fn selectable_fields(&self, _version: VersionIndex) -> &[SelectableField] {
        static FIELDS: LazyLock<Vec<SelectableField>> = LazyLock::new(|| {
            let names = ["spec.component", "status.stage", "status.enabled"];
            names.map(SelectableField::at).to_vec()
        });
        &FIELDS
    }

    fn schema(&self) -> Option<&Value> {
        static SCHEMA: LazyLock<Value> = LazyLock::new(schema);
        Some(&SCHEMA)
    }

    fn columns(&self, _version: VersionIndex) -> &Columns {
        static COLUMNS: LazyLock<Columns> = LazyLock::new(columns);
        &COLUMNS
    }
}

/// Table columns (ux.md §4).
fn columns() -> Columns {
    Columns::new(vec![
        Column::name(),
        Column::computed("Component", "What it is a part of.", |gate, _| {
            shown(gate, &["spec", "component"])
        }),
        Column::computed("Stage", "How far it is.", |gate, _| {
            shown(gate, &["status", "stage"])
        }),
        Column::computed(
            "Enabled",
            "Whether it is on, on every server.",
            |gate, _| shown(gate, &["status", "enabled"]),
        ),
        Column::computed(
            "Default",
            "What it is if nobody says anything.",
            |gate, _| shown(gate, &["status", "default"]),
        ),
        Column::computed("Since", "The version since which that holds.", |gate, _| {
            shown(gate, &["status", "since"])
        }),
        Column::computed("Locked", "Whether it can be changed no more.", |gate, _| {
            shown(gate, &["status", "locked"])
        })
        .wide(),
        Column::computed("Set-By", "Who decided the value.", |gate, _| {
            shown(gate, &["status", "source"])
        })
        .wide(),
        Column::computed(
            "Removed-In",
            "The version that may go without it.",
            |gate, _| shown(gate, &["status", "removeIn"]),
        )
        .wide(),
        Column::computed(
            "Servers",
            "How many servers have it on, of all.",
            |gate, _| servers(gate).into(),
        )
        .wide(),
    ])
}

fn shown(gate: &Object, path: &[&str]) -> Value {
    match gate.at(path) {
        Some(Value::Bool(value)) => value.to_string().into(),
        Some(value) => value.clone(),
        None => "<none>".into(),
    }
}

fn servers(gate: &Object) -> String {
    let places = gate.at(&["status", "perServer"]).and_then(Value::as_array);
    let places = places.map(Vec::as_slice).unwrap_or_default();
    let on = places.iter().filter(|place| place["value"] == true).count();
    format!("{on}/{}", places.len())
}

/// The `OpenAPI` schema.
fn schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let switch = |description: &str| json!({ "type": "boolean", "description": description });
    let object = |description: &str, required: &[&str], properties: Value| {
        json!({
            "type": "object",
            "description": description,
            "required": required,
            "properties": properties,
        })
    };
    let held = [
        (
            "stage",
            text("How far it is: Alpha, Beta, GA, Deprecated, or PreAlpha before its time."),
        ),
        ("default", switch("What it is if nobody says anything.")),
        ("locked", switch("Whether it can be changed no more.")),
        ("since", text("The version since which that holds.")),
    ];
    let with_held = |mut properties: Value| {
        for (name, schema) in &held {
            properties[*name] = schema.clone();
        }
        properties
    };
    let place = object(
        "One server.",
        &[
            "id",
            "host",
            "value",
            "source",
            "stage",
            "default",
            "locked",
            "since",
            "binaryVersion",
            "emulationVersion",
            "minCompatibilityVersion",
        ],
        with_held(json!({
            "id": text("The name of the server's lease in kube-system."),
            "host": text("The machine it runs on."),
            "value": switch("Whether the gate is on there."),
            "source": text("Who decided that: default, flag, env, file, override, AllAlpha or AllBeta."),
            "binaryVersion": text("The version of the component in that program."),
            "emulationVersion": text("The version it emulates."),
            "minCompatibilityVersion": text("The oldest version it must get along with."),
        })),
    );
    let entry = object(
        "What holds from a version on.",
        &["version", "stage", "default", "locked"],
        json!({
            "version": text("The first version."),
            "stage": held[0].1,
            "default": held[1].1,
            "locked": held[2].1,
            "minCompatibilityVersion": text("The entry holds only for servers that need not get along with anything older."),
        }),
    );
    let spec = object(
        "What the gate is.",
        &["component", "gate", "description", "dependsOn"],
        json!({
            "component": text("What it is a part of."),
            "gate": text("Its name, as --feature-gates takes it."),
            "description": text("What it is for."),
            "dependsOn": { "type": "array", "items": { "type": "string" }, "description": "What must be on for it to be on." },
        }),
    );
    let status = object(
        "What servers decided.",
        &[
            "enabled",
            "stage",
            "default",
            "locked",
            "since",
            "source",
            "perServer",
            "history",
        ],
        with_held(json!({
            "enabled": switch("Whether it is on, on every server."),
            "source": text("Who decided the values."),
            "removeIn": text("The version that may go without it."),
            "perServer": { "type": "array", "items": place, "description": "Each server that lives." },
            "history": { "type": "array", "items": entry, "description": "Oldest first." },
        })),
    );
    object(
        "A feature gate as the servers have it. Written by servers alone.",
        &["spec", "status"],
        json!({ "spec": spec, "status": status }),
    )
}
