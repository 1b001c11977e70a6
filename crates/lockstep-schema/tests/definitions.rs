//! Definitions of custom resources: cases that name their rows.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_cel::Version;
use lockstep_object::Object;
use lockstep_schema::{
    check_definition, conflict, default_definition, definition_warnings, storage_version,
};
use lockstep_testkit::cases::CaseFile;
use serde_json::{Value, json};

/// The base with the fields of `changes` in place of its own; null removes one.
fn definition(base: &Value, changes: &Value) -> Object {
    let mut definition = base.clone();
    for part in ["metadata", "spec", "status"] {
        for (field, value) in changes[part].as_object().into_iter().flatten() {
            let fields = definition[part].as_object_mut().unwrap();
            match value {
                Value::Null => fields.remove(field),
                value => fields.insert(field.clone(), value.clone()),
            };
        }
    }
    let mut definition = Object::from_value(definition).unwrap();
    default_definition(&mut definition);
    definition
}

#[test]
fn definitions_keep_their_rules() {
    CaseFile::read("definitions.yaml").results("result", |case| {
        let base = &case.shared["base"];
        let new = definition(base, &case["new"]);
        let stored = case.get("stored").map(|stored| definition(base, stored));
        let errors = check_definition(&new, stored.as_ref(), Version::LATEST);
        // Whole lists of versions are long; the detail is the assertion.
        let texts = errors.iter().map(|error| {
            let text = error.to_string();
            let from = text
                .find("Invalid value: [{\"name\"")
                .filter(|_| error.field == "spec.versions");
            Value::from(from.map_or(text.clone(), |from| {
                format!("{}… {}", &text[..from], error.detail)
            }))
        });
        texts.collect()
    });
}

/// api-machinery.md §11/spec: singular and listKind are defaulted
#[test]
fn what_a_definition_leaves_out_is_filled_in() {
    let mut definition = Object::from_value(json!({"spec": {
        "names": {"plural": "widgets", "kind": "Widget"},
        "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {"service": {"name": "a", "namespace": "b"}}}},
        "versions": [{"name": "v1"}, {"name": "v2", "storage": true}],
    }}))
    .unwrap();
    default_definition(&mut definition);
    assert_eq!(storage_version(&definition), Some("v2"));
    assert_eq!(
        definition.into_value(),
        json!({
            "spec": {
                "names": {"plural": "widgets", "kind": "Widget", "singular": "widget", "listKind": "WidgetList"},
                "conversion": {"strategy": "Webhook", "webhook": {"clientConfig": {
                    "service": {"name": "a", "namespace": "b", "port": 443}
                }}},
                "versions": [{"name": "v1"}, {"name": "v2", "storage": true}],
            },
            "status": {"storedVersions": ["v2"]},
        })
    );
}

/// api-machinery.md §11/other: unknown `format` = warning
#[test]
fn formats_that_are_not_judged_are_warned_of_once() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "format": "zzz"}, "b": {"type": "integer", "format": "date"},
        "c": {"type": "array", "items": {"type": "string", "format": "zzz"}}, "d": {"type": "string", "format": "date"},
    }});
    let version = json!({"schema": {"openAPIV3Schema": schema}});
    let definition = Object::from_value(json!({"spec": {"versions": [version, version]}})).unwrap();
    let expected = [
        "unrecognized format \"zzz\"",
        "unrecognized format \"date\"",
    ];
    assert_eq!(definition_warnings(&definition, Version::LATEST), expected);
}

/// api-machinery.md §11/conditions: `NamesAccepted`
#[test]
fn the_loser_of_a_name_is_told_which() {
    let taken = json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["w"]});
    let told = |names: Value| conflict(&names, [&taken]).map(|found| (found.reason, found.message));
    let name = |field: &str, name: &str| json!({ field: name });
    assert_eq!(
        told(
            json!({"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"})
        ),
        None
    );
    assert_eq!(
        told(name("plural", "w")),
        Some(("PluralConflict", "\"w\" is already in use".to_owned()))
    );
    assert_eq!(
        told(name("singular", "widgets")),
        Some((
            "SingularConflict",
            "\"widgets\" is already in use".to_owned()
        ))
    );
    assert_eq!(
        told(json!({"shortNames": ["x", "widget"]})),
        Some((
            "ShortNamesConflict",
            "\"widget\" is already in use".to_owned()
        ))
    );
    assert_eq!(
        told(name("kind", "WidgetList")),
        Some((
            "KindConflict",
            "\"WidgetList\" is already in use".to_owned()
        ))
    );
    assert_eq!(
        told(name("listKind", "Widget")),
        Some((
            "ListKindConflict",
            "\"Widget\" is already in use".to_owned()
        ))
    );
    assert_eq!(told(name("kind", "widgets")), None);
}
