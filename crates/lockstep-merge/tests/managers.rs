//! Claims on fields, and server-side apply, as data: every case names its row.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use std::collections::BTreeMap;

use lockstep_merge::fields::Set;
use lockstep_merge::managers::{Endpoint, Force, ManagedFields, Writer, apply, update};
use lockstep_merge::types::{Type, Types};
use lockstep_object::json::normalise_numbers;
use lockstep_object::metadata::Seconds;
use lockstep_schema::Schema;
use lockstep_testkit::cases::CaseFile;
use serde_json::{Map, Value, json};

const VERSION: &str = "ex.io/v1";

/// An endpoint of a custom resource with one version.
struct Widgets<'a> {
    types: &'a Types,
    subresource: &'a str,
    has_status: bool,
}

impl Endpoint for Widgets<'_> {
    type Error = String;

    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == VERSION).then(|| self.types.object())
    }

    fn convert(&self, _: &Value, api_version: &str) -> Result<Value, String> {
        Err(api_version.to_owned())
    }

    fn owned(&self, _: &str, fields: Set) -> Set {
        match self.subresource {
            "status" => fields.only("status"),
            _ if self.has_status => fields.without(&Set::of_fields(&[&["status"]])),
            _ => fields,
        }
    }
}

#[derive(Default)]
struct Object {
    live: Option<Value>,
    managed: ManagedFields,
}

fn given(object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = VERSION.into();
    object["kind"] = "Widget".into();
    object
}

/// The claims that a request names, if it names any.
fn named(object: &mut Value) -> Option<ManagedFields> {
    let metadata = object.get_mut("metadata")?.as_object_mut()?;
    let entries = metadata.remove("managedFields")?;
    if metadata.is_empty() {
        object.as_object_mut().unwrap().remove("metadata");
    }
    let entries = entries.as_array().unwrap();
    if entries.iter().all(|entry| *entry == json!({})) {
        return Some(ManagedFields::default());
    }
    ManagedFields::read(entries).ok()
}

fn step(object: &mut Object, step: &Value, endpoint: &Widgets<'_>, second: i64) -> Option<String> {
    let mut new = given(&step["object"]);
    let asked = named(&mut new).filter(|_| endpoint.subresource.is_empty());
    let who = step
        .get("apply")
        .or(step.get("update"))
        .and_then(Value::as_str);
    let writer = Writer {
        manager: who.unwrap_or_default(),
        api_version: VERSION,
        subresource: endpoint.subresource,
        now: Seconds::from_unix(second).unwrap(),
    };
    let managed = object.managed.clone();
    if step.get("apply").is_some() {
        let force = if step["force"] == true {
            Force::Yes
        } else {
            Force::No
        };
        match apply(
            endpoint,
            object.live.as_ref(),
            &new,
            managed,
            &writer,
            force,
        ) {
            Err(error) => return Some(error.to_string()),
            Ok(applied) => {
                object.managed = applied.managed;
                object.live = applied.object.or(object.live.take());
            }
        }
    } else if step.get("update").is_some() {
        let managed = asked.unwrap_or(managed);
        match update(endpoint, object.live.as_ref(), &new, managed, &writer) {
            Err(error) => return Some(error.to_string()),
            Ok(managed) => (object.managed, object.live) = (managed, Some(new)),
        }
    } else {
        object.live = Some(new);
    }
    None
}

fn told(managed: &ManagedFields) -> Value {
    let claims = managed.entries().map(|(owner, entry)| {
        let mut name = format!("{} {}", owner.manager, owner.operation.as_str());
        if !owner.subresource.is_empty() {
            name = format!("{name} {}", owner.subresource);
        }
        if entry.time.is_none() {
            name.push_str(" (no time)");
        }
        (name, entry.fields.to_fields())
    });
    Value::Object(claims.collect())
}

fn check(types: &BTreeMap<&str, Types>, case: &Value) -> Vec<String> {
    let mut object = Object::default();
    let mut failures = Vec::new();
    let mut schema = case["schema"].as_str().unwrap();
    for (second, asked) in (0..).zip(case["steps"].as_array().unwrap()) {
        schema = asked
            .get("schema")
            .map_or(schema, |name| name.as_str().unwrap());
        let endpoint = Widgets {
            types: &types[schema],
            subresource: asked
                .get("subresource")
                .map_or("", |part| part.as_str().unwrap()),
            has_status: case["reset"] == "status",
        };
        let error = step(&mut object, asked, &endpoint, second);
        let expected = asked
            .get("error")
            .and_then(Value::as_str)
            .map(str::to_owned);
        if error != expected {
            failures.push(format!(
                "step {second}\n  expected {expected:?}\n  actual   {error:?}"
            ));
        }
        let written = object.managed.write();
        assert_eq!(
            ManagedFields::read(&written).as_ref(),
            Ok(&object.managed),
            "{case}"
        );
    }
    let live = object.live.unwrap_or_default();
    let mut live: Map<String, Value> = live.as_object().cloned().unwrap_or_default();
    live.retain(|name, _| name != "apiVersion" && name != "kind");
    for (what, actual) in [
        ("object", Value::Object(live)),
        ("managed", told(&object.managed)),
    ] {
        if actual != case[what] {
            failures.push(format!(
                "{what}\n  expected {}\n  actual   {actual}",
                case[what]
            ));
        }
    }
    failures
}

#[test]
fn claims_follow_every_write() {
    let file = CaseFile::read("managers.yaml").map(normalise_numbers);
    let schemas = file.document()["schemas"].as_object().unwrap().iter();
    let types: BTreeMap<&str, Types> = schemas
        .map(|(name, schema)| (&**name, Types::custom(&Schema::compile(schema).unwrap())))
        .collect();
    assert!(file.cases().count() > 80, "the file has lost cases");
    file.check(|case| match check(&types, case.own) {
        failures if failures.is_empty() => Ok(()),
        failures => Err(failures.join("\n")),
    });
}
