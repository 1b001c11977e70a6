//! No object can make a strategy panic: neither one that a client sends, nor one that is in the store.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use std::sync::LazyLock;

use lockstep_builtins::{KindStrategy, WriteEndpoint, defaults, limits, parts, services};
use lockstep_kinds::{Table, TypeId, typed};
use lockstep_object::Object;
use lockstep_testkit::cases::CaseFile;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// Group and kind, type, and an object of each case.
fn objects() -> Vec<(String, String, TypeId, Value)> {
    let mut all = Vec::new();
    for folder in ["create", "update"] {
        for file in CaseFile::folder(folder) {
            for case in file.cases() {
                let words: Vec<&str> = case["kind"].as_str().unwrap().split('/').collect();
                let (group, version, kind) = match words[..] {
                    [version, kind] => ("", version, kind),
                    [group, version, kind] => (group, version, kind),
                    _ => panic!("{words:?} is no kind"),
                };
                let id = Table::builtin().kind(group, version, kind).unwrap();
                let object = case.get("output").unwrap_or(&case["input"]);
                all.push((group.to_owned(), kind.to_owned(), id, object.clone()));
            }
        }
    }
    all
}

/// Values of all types, some of which mean something.
fn strange() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!({})),
        Just(json!([])),
        Just(json!([null])),
        Just(json!([{}])),
        Just(json!([{}, {}])),
        Just(json!({ "a": null })),
        Just(json!(true)),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[*/0-9,a-z@ %:-]{0,12}".prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ]
}

/// Puts a value at some place of another.
fn put(value: &mut Value, at: Index, strange: Value) {
    let mut places = Vec::new();
    pointers(value, String::new(), &mut places);
    let place = &places[at.index(places.len())];
    *value.pointer_mut(place).unwrap() = strange;
}

fn pointers(value: &Value, here: String, places: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(inner, format!("{here}/{name}"), places);
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                pointers(inner, format!("{here}/{at}"), places);
            }
        }
        _ => {}
    }
    places.push(here);
}

/// Everything that is done with an object that comes in.
fn run(group: &str, kind: &str, id: TypeId, mut object: Object, old: Option<&Object>) {
    let strategy = KindStrategy::of(group, kind);
    for version in ["v1", "v2"] {
        (strategy.convert)(&mut object.clone(), version);
    }
    defaults::fill(id, object.fields_mut());
    match old {
        None => (strategy.prepare_for_create)(&mut object),
        Some(old) => (strategy.prepare_for_update)(&mut object, old),
    }
    let old_value = old.map(Object::as_value);
    for part in [
        WriteEndpoint::Main,
        WriteEndpoint::EphemeralContainers,
        WriteEndpoint::Resize,
    ] {
        strategy.check(object.as_value(), old_value, part);
    }
    services::allocations(object.as_value());
    let mut random = || 7;
    let mut pool = services::Pool {
        range: services::ServiceRange::default(),
        is_address_taken: &|_| false,
        is_port_taken: &|_| false,
        random: &mut random,
    };
    if kind == "Service" {
        let _given = services::assign(&mut object, old, &mut pool);
    }
    let ranges = old_value.into_iter().cloned().collect::<Vec<_>>();
    limits::fill(&mut object.clone(), &ranges);
    limits::check_pod(object.as_value(), &ranges);
    limits::check_claim(object.as_value(), &ranges);
    if let Some(old) = old {
        for keep in [
            parts::ephemeral_containers,
            parts::resize,
            parts::approval,
            parts::signing_status,
        ] {
            keep(&mut object.clone(), old);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_in_or_was_stored_is_judged_without_a_panic(
        which in any::<Index>(),
        changes in proptest::collection::vec((any::<Index>(), strange()), 1..4),
        stored in proptest::collection::vec((any::<Index>(), strange()), 0..3),
    ) {
        static OBJECTS: LazyLock<Vec<(String, String, TypeId, Value)>> = LazyLock::new(objects);
        let all = &*OBJECTS;
        let (group, kind, id, object) = &all[which.index(all.len())];
        let (mut new, mut old) = (object.clone(), object.clone());
        for (at, strange) in changes {
            put(&mut new, at, strange);
        }
        for (at, strange) in stored {
            put(&mut old, at, strange);
        }
        let Some(fields) = new.as_object_mut() else {
            return Ok(());
        };
        if typed::read(Table::builtin(), *id, fields, &mut Vec::new()).is_err() {
            return Ok(());
        }
        let new = Object::from_value(new).unwrap();
        run(group, kind, *id, new.clone(), None);
        if let Ok(old) = Object::from_value(old) {
            run(group, kind, *id, new, Some(&old));
        }
    }
}
