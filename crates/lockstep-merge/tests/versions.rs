//! Claims in several versions of a kind (§10/A15): objects are converted, and claims with them.

#![expect(clippy::unwrap_used, reason = "a case that does not fit is a failure")]

use lockstep_merge::fields::Set;
use lockstep_merge::managers::{Applied, Endpoint, Force, ManagedFields, Writer, apply, update};
use lockstep_merge::typed::Comparison;
use lockstep_merge::types::{Type, Types};
use lockstep_object::metadata::Seconds;
use lockstep_schema::Schema;
use serde_json::{Value, json};

/// A kind whose second version spells `color` otherwise.
struct Colours {
    first: Types,
    second: Types,
    /// Versions that are served.
    served: &'static [&'static str],
    /// Whether colours stay as they are.
    is_frozen: bool,
}

impl Colours {
    fn new(served: &'static [&'static str]) -> Self {
        let types = |field: &str| {
            let spec = json!({"type": "object", "properties": {
                field: {"type": "string"}, "size": {"type": "integer"},
            }});
            let schema = json!({"type": "object", "properties": {"spec": spec}});
            Types::custom(&Schema::compile(&schema).unwrap())
        };
        Self {
            first: types("color"),
            second: types("colour"),
            served,
            is_frozen: false,
        }
    }
}

impl Endpoint for Colours {
    type Error = String;

    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        if !self.served.contains(&api_version) {
            return None;
        }
        Some(match api_version {
            "ex.io/v1" => self.first.object(),
            _ => self.second.object(),
        })
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, String> {
        let (old, new) = match api_version {
            "ex.io/v1" => ("colour", "color"),
            "ex.io/v2" => ("color", "colour"),
            other => return Err(other.to_owned()),
        };
        let mut converted = object.clone();
        converted["apiVersion"] = api_version.into();
        if let Some(spec) = converted.get_mut("spec").and_then(Value::as_object_mut)
            && let Some(value) = spec.remove(old)
        {
            spec.insert(new.to_owned(), value);
        }
        Ok(converted)
    }

    fn with_frozen_fields(
        &self,
        live: &Value,
        next: &Value,
        _: &Comparison,
    ) -> Result<Option<Value>, String> {
        let mut kept = next.clone();
        for name in ["color", "colour"] {
            if let Some(value) = live["spec"].get(name) {
                kept["spec"][name] = value.clone();
            }
        }
        Ok((self.is_frozen && kept != *next).then_some(kept))
    }

    fn owned(&self, _: &str, fields: Set) -> Set {
        fields
    }
}

fn writer<'w>(manager: &'w str, api_version: &'w str) -> Writer<'w> {
    Writer {
        manager,
        api_version,
        subresource: "",
        now: Seconds::from_unix(7).unwrap(),
    }
}

fn object(api_version: &str, spec: impl Into<Value>) -> Value {
    let spec: Value = spec.into();
    json!({"apiVersion": api_version, "kind": "Colour", "spec": spec})
}

fn claims(managed: &ManagedFields) -> Value {
    let claims = managed.entries().map(|(owner, entry)| {
        let name = format!("{} {}", owner.manager, owner.operation.as_str());
        (name, json!([entry.api_version, entry.fields.to_fields()]))
    });
    Value::Object(claims.collect())
}

#[test]
fn a_conflict_is_found_in_the_version_of_the_claim() {
    let kind = Colours::new(&["ex.io/v1", "ex.io/v2"]);
    let live = object("ex.io/v1", json!({"color": "red", "size": 1}));
    let managed = update(
        &kind,
        None,
        &live,
        ManagedFields::default(),
        &writer("m1", "ex.io/v1"),
    )
    .unwrap();
    let live = kind.convert(&live, "ex.io/v2").unwrap();
    let wanted = object("ex.io/v2", json!({"colour": "blue"}));
    let (second, no, yes) = (writer("m2", "ex.io/v2"), Force::No, Force::Yes);
    let error = apply(&kind, Some(&live), &wanted, managed.clone(), &second, no).unwrap_err();
    let text = "Apply failed with 1 conflict: conflict with \"m1\" using ex.io/v1: .spec.color";
    assert_eq!(error.to_string(), text);
    let forced = apply(&kind, Some(&live), &wanted, managed, &second, yes).unwrap();
    let expected = object("ex.io/v2", json!({"colour": "blue", "size": 1}));
    assert_eq!(forced.object, Some(expected));
    assert_eq!(
        claims(&forced.managed),
        json!({
            "m1 Update": ["ex.io/v1", {"f:spec": {".": {}, "f:size": {}}}],
            "m2 Apply": ["ex.io/v2", {"f:spec": {"f:colour": {}}}],
        })
    );
}

/// field-gates.md §5/D12: a frozen field neither conflicts nor loses its owner, in any version of the request.
#[test]
fn nobody_is_in_conflict_about_what_cannot_change() {
    let mut kind = Colours::new(&["ex.io/v1", "ex.io/v2"]);
    let live = object("ex.io/v1", json!({"color": "red", "size": 1}));
    let first = writer("m1", "ex.io/v1");
    let managed = update(&kind, None, &live, ManagedFields::default(), &first).unwrap();
    let live = kind.convert(&live, "ex.io/v2").unwrap();
    kind.is_frozen = true;
    let claimed = json!(["ex.io/v1", {"f:spec": {".": {}, "f:color": {}, "f:size": {}}}]);
    let second = writer("m2", "ex.io/v2");
    for force in [Force::No, Force::Yes] {
        let wanted = object("ex.io/v2", json!({"colour": "blue"}));
        let applied = apply(&kind, Some(&live), &wanted, managed.clone(), &second, force).unwrap();
        // It is still what was asked for: who keeps the object decides what becomes of it.
        let asked = object("ex.io/v2", json!({"colour": "blue", "size": 1}));
        assert_eq!(applied.object, Some(asked));
        let expected = json!({
            "m1 Update": claimed, "m2 Apply": ["ex.io/v2", {"f:spec": {"f:colour": {}}}],
        });
        assert_eq!(claims(&applied.managed), expected);
    }
    let next = object("ex.io/v2", json!({"colour": "blue", "size": 1}));
    let updated = update(&kind, Some(&live), &next, managed.clone(), &second).unwrap();
    assert_eq!(claims(&updated), json!({"m1 Update": claimed}));
    // Elsewhere there are conflicts as always.
    let wanted = object("ex.io/v2", json!({"colour": "blue", "size": 2}));
    let error = apply(&kind, Some(&live), &wanted, managed, &second, Force::No);
    let text = "Apply failed with 1 conflict: conflict with \"m1\" using ex.io/v1: .spec.size";
    assert_eq!(error.unwrap_err().to_string(), text);
}

#[test]
fn what_was_applied_in_one_version_goes_when_it_is_not_wanted_in_another() {
    let kind = Colours::new(&["ex.io/v1", "ex.io/v2"]);
    let wanted = object("ex.io/v1", json!({"color": "red", "size": 1}));
    let first = writer("m1", "ex.io/v1");
    let Applied {
        object: live,
        managed,
    } = apply(
        &kind,
        None,
        &wanted,
        ManagedFields::default(),
        &first,
        Force::No,
    )
    .unwrap();
    let live = kind.convert(&live.unwrap(), "ex.io/v2").unwrap();
    let wanted = object("ex.io/v2", json!({"size": 1}));
    let second = writer("m1", "ex.io/v2");
    let applied = apply(&kind, Some(&live), &wanted, managed, &second, Force::No).unwrap();
    assert_eq!(applied.object, Some(object("ex.io/v2", json!({"size": 1}))));
    let expected = json!({"m1 Apply": ["ex.io/v2", {"f:spec": {"f:size": {}}}]});
    assert_eq!(claims(&applied.managed), expected);
}

#[test]
fn claims_in_a_version_that_is_gone_go() {
    let both = Colours::new(&["ex.io/v1", "ex.io/v2"]);
    let live = object("ex.io/v1", json!({"color": "red"}));
    let managed = update(
        &both,
        None,
        &live,
        ManagedFields::default(),
        &writer("m1", "ex.io/v1"),
    )
    .unwrap();
    let live = both.convert(&live, "ex.io/v2").unwrap();
    let one = Colours::new(&["ex.io/v2"]);
    let new = object("ex.io/v2", json!({"colour": "red", "size": 2}));
    let managed = update(&one, Some(&live), &new, managed, &writer("m2", "ex.io/v2")).unwrap();
    let expected = json!({"m2 Update": ["ex.io/v2", {"f:spec": {"f:size": {}}}]});
    assert_eq!(claims(&managed), expected);
}

#[test]
fn whoever_cannot_convert_is_told() {
    let kind = Colours::new(&["ex.io/v1", "ex.io/v2", "ex.io/v3"]);
    let live = object("ex.io/v1", json!({"color": "red"}));
    let entries = [json!({
        "manager": "m", "operation": "Update", "apiVersion": "ex.io/v3", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:size": {}}},
    })];
    let managed = ManagedFields::read(&entries).unwrap();
    let new = object("ex.io/v1", json!({"color": "blue"}));
    let error = update(&kind, Some(&live), &new, managed, &writer("m1", "ex.io/v1")).unwrap_err();
    assert_eq!(
        error,
        lockstep_merge::managers::UpdateError::Convert("ex.io/v3".to_owned())
    );
}
