//! Objects of built-in kinds as data: what is sent, and what becomes of it.
//!
//! A case has `input`, and `stored` if there is an object already; what comes out is either `output`, whole, or `errors`,
//! in their order. The expectations are what kube-apiserver 1.36.4 answers to the same requests. Values that it prints in
//! its internal form are `{…}`.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_builtins::{KindStrategy, WriteEndpoint, defaults, parts};
use lockstep_kinds::{Table, typed};
use lockstep_object::Object;
use lockstep_object::metadata::{Scope, validate_create, validate_update};
use lockstep_object::names::NameRule;
use lockstep_testkit::cases::CaseFile;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    kind: String,
    #[serde(default)]
    part: String,
    stored: Option<Value>,
    input: Value,
    output: Option<Value>,
    #[serde(default)]
    errors: Vec<String>,
}

/// An object as the server takes it in.
fn taken(case: &Case, input: &Value) -> Object {
    let (_, kind) = gvk(case);
    let mut object = input.clone();
    let (version, name) = case.kind.rsplit_once('/').unwrap();
    object["apiVersion"] = version.into();
    object["kind"] = name.into();
    if object["metadata"].is_null() {
        object["metadata"] = json!({});
    }
    if object["metadata"]["name"].is_null() {
        object["metadata"]["name"] = "x".into();
    }
    let fields = object.as_object_mut().unwrap();
    let mut unknown = Vec::new();
    typed::read(Table::builtin(), kind, fields, &mut unknown).unwrap();
    assert_eq!(unknown, Vec::<String>::new(), "{}", case.name);
    Object::from_value(object).unwrap()
}

fn gvk(case: &Case) -> ((String, String), lockstep_kinds::TypeId) {
    let words: Vec<&str> = case.kind.split('/').collect();
    let (group, version, kind) = match words[..] {
        [version, kind] => ("", version, kind),
        [group, version, kind] => (group, version, kind),
        _ => panic!("{} is no kind", case.kind),
    };
    let id = Table::builtin().kind(group, version, kind).unwrap();
    ((group.to_owned(), kind.to_owned()), id)
}

/// A new object, or the next state of one, as it would be stored, and what is wrong with it.
fn written(case: &Case, input: &Value, old: Option<&Object>) -> (Object, Vec<String>) {
    let ((group, kind), id) = gvk(case);
    let strategy = KindStrategy::of(&group, &kind);
    let mut object = taken(case, input);
    object.set_meta_text("uid", "UID");
    object.set_meta_text("creationTimestamp", "2026-01-01T00:00:00Z");
    let is_status = case.part == "status" && old.is_some();
    match old.and_then(|old| old.fields().get("status")) {
        _ if is_status => {}
        Some(status) => drop(object.fields_mut().insert("status".into(), status.clone())),
        None => drop(object.fields_mut().remove("status")),
    }
    if let Some(old) = old {
        keep(case, &mut object, old);
    }
    defaults::fill(id, object.fields_mut());
    match old {
        None => (strategy.prepare_for_create)(&mut object),
        Some(old) => (strategy.prepare_for_update)(&mut object, old),
    }
    let mut unknown = Vec::new();
    typed::read(Table::builtin(), id, object.fields_mut(), &mut unknown).unwrap();
    let mut errors = match old {
        None => validate_create(&object, names(&kind), Scope::Cluster),
        Some(_) => {
            object.set_meta_text("resourceVersion", "1");
            validate_update(&object, old.unwrap())
        }
    };
    errors.append(strategy.check(object.as_value(), old.map(Object::as_value), part(case)));
    object.set_meta_text("resourceVersion", "");
    (object, errors.iter().map(ToString::to_string).collect())
}

fn check(case: &Case) -> Result<(), String> {
    let old = case.stored.as_ref().map(|stored| {
        let (object, errors) = written(case, stored, None);
        assert_eq!(errors, Vec::<String>::new(), "{}: stored", case.name);
        object
    });
    let (object, errors) = written(case, &case.input, old.as_ref());
    let errors: Vec<String> = errors
        .into_iter()
        .zip(case.errors.iter().map(Some).chain(std::iter::repeat(None)))
        .map(|(error, expected)| masked(error, expected))
        .collect();
    if errors != case.errors {
        return Err(format!(
            "{}:\n  expected {:#?}\n  actual {errors:#?}",
            case.name, case.errors
        ));
    }
    let Some(output) = &case.output else {
        return Ok(());
    };
    let actual = shown(object);
    if actual == *output {
        return Ok(());
    }
    Err(format!(
        "{}:\n  expected {}\n  actual   {}",
        case.name, output, actual
    ))
}

fn part(case: &Case) -> WriteEndpoint {
    match case.part.as_str() {
        "" => WriteEndpoint::Main,
        "ephemeralcontainers" => WriteEndpoint::EphemeralContainers,
        "resize" => WriteEndpoint::Resize,
        "status" => WriteEndpoint::Status,
        other => panic!("{other} is no part"),
    }
}

/// Puts back what an endpoint does not write.
fn keep(case: &Case, object: &mut Object, old: &Object) {
    match case.part.as_str() {
        "ephemeralcontainers" => parts::ephemeral_containers(object, old),
        "resize" => parts::resize(object, old),
        "status" => {
            let spec = old.fields().get("spec").cloned().unwrap_or_default();
            object.fields_mut().insert("spec".into(), spec);
        }
        _ => {}
    }
}

fn names(kind: &str) -> NameRule {
    match kind {
        "Service" | "StatefulSet" => NameRule::Label,
        "IPAddress" => NameRule::PathSegment,
        _ => NameRule::Subdomain,
    }
}

/// The object without the fields that the server sets on every object.
fn shown(mut object: Object) -> Value {
    object.set_meta_text("uid", "");
    object.metadata_mut().remove("creationTimestamp");
    if object.name() == "x" {
        object.set_meta_text("name", "");
    }
    object.set_generation(0);
    let fields = object.fields_mut();
    fields.remove("apiVersion");
    fields.remove("kind");
    if fields["metadata"] == json!({}) {
        fields.remove("metadata");
    }
    object.into_value()
}

/// The expected text, if the error matches it with any value in place of `{…}`; else the error.
fn masked(error: String, expected: Option<&String>) -> String {
    let Some((start, end)) = expected.and_then(|expected| expected.split_once("{…}")) else {
        return error;
    };
    if error.starts_with(start) && error.ends_with(end) {
        return expected.unwrap().clone();
    }
    error
}

fn run(folder: &str) {
    for file in CaseFile::folder(folder) {
        file.check(|case| check(&serde_json::from_value(case.own.clone()).unwrap()));
    }
}

#[test]
fn new_objects_get_what_upstream_gives_them_and_are_refused_as_upstream_refuses_them() {
    run("create");
}

#[test]
fn changes_are_made_and_refused_as_upstream_does() {
    run("update");
}
