//! Properties of the gate step for every object and every state of gates.

#![expect(
    clippy::unwrap_used,
    reason = "an input that does not fit is a failure"
)]

use std::collections::{BTreeMap, BTreeSet};

use lockstep_fieldgate::{Action, FieldPath, Gates};
use lockstep_merge::fields::Element;
use lockstep_merge::managers::{ManagedFields, Owner};
use lockstep_merge::types::Types;
use lockstep_object::{Map, Object, Value};
use lockstep_schema::Schema;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::json;

const PATHS: [&str; 7] = [
    ".spec.a",
    ".spec.a.b",
    ".spec.list[*].a",
    ".spec.list[*].m[*].b",
    ".spec.m.x",
    ".spec.m[*].b",
    ".spec.m['y'].c",
];

fn definition(closed: &[bool]) -> Object {
    let leaf = json!({"type": "integer"});
    let struct_of = json!({"type": "object", "properties": {"a": leaf, "b": leaf, "c": leaf}});
    let map = json!({"type": "object", "additionalProperties": struct_of});
    let element = json!({"type": "object", "properties": {"k": leaf, "a": leaf, "m": map}});
    let list = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": element,
    });
    let spec = json!({"type": "object", "properties": {"a": struct_of, "m": map, "list": list, "c": leaf}});
    let gates = PATHS.iter().zip(closed).enumerate().map(|(at, (path, closed))| {
        json!({"name": format!("G{at}"), "preRelease": "alpha", "enabled": !closed, "fieldPaths": [path]})
    });
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let definition = json!({"spec": {
        "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}}],
        "customFeatureGates": {"featureGates": gates.collect::<Vec<_>>()},
    }});
    Object::from_value(definition).unwrap()
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        (0..3i64).prop_map(Value::from),
        Just(json!("x"))
    ]
}

fn map_of(names: &'static [&'static str], inner: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let entries = btree_map(prop::sample::select(names), inner, 0..4);
    let map = entries.prop_map(|entries| {
        let entries = entries.into_iter();
        Value::Object(
            entries
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    });
    prop_oneof![9 => map, 1 => leaf()].boxed()
}

fn object() -> BoxedStrategy<Value> {
    let structs = || map_of(&["a", "b", "c"], leaf().boxed());
    let maps = || map_of(&["x", "y", "z"], structs());
    let element = (0..4i64, any::<bool>(), leaf(), maps()).prop_map(|(key, has, a, m)| {
        let mut element = json!({"k": key, "m": m});
        if has {
            element["a"] = a;
        }
        element
    });
    let spec = (structs(), maps(), vec(element, 0..4), leaf())
        .prop_map(|(a, m, list, c)| json!({"spec": {"a": a, "m": m, "list": list, "c": c}}));
    prop_oneof![9 => spec, 1 => Just(json!({}))].boxed()
}

/// Another way to say what the gate step does: path by path, without a tree.
fn gated(paths: &[FieldPath], new: &Value, old: Option<&Value>) -> Value {
    let mut new = new.clone();
    // Outer paths first: what lies below a closed one is as it is stored already.
    let mut paths: Vec<&FieldPath> = paths.iter().collect();
    paths.sort_by_key(|path| path.segments().len());
    for (at, path) in paths.iter().enumerate() {
        put_back(
            &mut new,
            old,
            path.segments(),
            &mut Vec::new(),
            &paths[..at],
        );
    }
    new
}

fn put_back(
    new: &mut Value,
    old: Option<&Value>,
    rest: &[lockstep_fieldgate::Segment],
    way: &mut Vec<lockstep_fieldgate::Segment>,
    outer: &[&FieldPath],
) {
    use lockstep_fieldgate::Segment;
    let is_frozen = outer.iter().any(|outer| {
        let outer = outer.segments();
        let pairs = outer.iter().zip(&*way);
        outer.len() == way.len()
            && pairs
                .into_iter()
                .all(|(outer, way)| outer == way || *outer == Segment::Each)
    });
    if is_frozen {
        return;
    }
    match (rest, new) {
        ([Segment::Name(name)], Value::Object(entries)) => {
            match old.and_then(|old| old.get(&**name)) {
                Some(old) => drop(entries.insert(name.to_string(), old.clone())),
                None => drop(entries.remove(&**name)),
            }
        }
        ([first @ Segment::Name(name), rest @ ..], Value::Object(entries)) => {
            if let Some(below) = entries.get_mut(&**name) {
                way.push(first.clone());
                put_back(
                    below,
                    old.and_then(|old| old.get(&**name)),
                    rest,
                    way,
                    outer,
                );
                way.pop();
            }
        }
        ([Segment::Each, rest @ ..], Value::Object(entries)) => {
            for (name, below) in entries {
                way.push(Segment::Name(name.as_str().into()));
                put_back(below, old.and_then(|old| old.get(name)), rest, way, outer);
                way.pop();
            }
        }
        ([Segment::Each, rest @ ..], Value::Array(elements)) => {
            for below in elements {
                let same = |old: &&Value| old.get("k") == below.get("k");
                let stored = old.and_then(Value::as_array);
                let stored = stored.and_then(|stored| stored.iter().find(same));
                let stored = stored.cloned();
                way.push(Segment::Each);
                put_back(below, stored.as_ref(), rest, way, outer);
                way.pop();
            }
        }
        _ => {}
    }
}

/// Objects as they are stored have each key once.
fn without_twins(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(list) = object
        .pointer_mut("/spec/list")
        .and_then(Value::as_array_mut)
    {
        let mut seen = Vec::new();
        list.retain(|element| {
            let is_new = !seen.contains(&element["k"]);
            seen.push(element["k"].clone());
            is_new
        });
    }
    object
}

/// Entries of `managedFields` by one or two managers, with claims on the way to gated fields, at them and below.
fn entries() -> impl Strategy<Value = Vec<Value>> {
    const CLAIMS: [&str; 8] = [
        r#"{"f:spec":{"f:a":{".":{},"f:b":{}}}}"#,
        r#"{"f:spec":{"f:a":{"f:b":{}},"f:c":{}}}"#,
        r#"{"f:spec":{"f:list":{"k:{\"k\":1}":{".":{},"f:k":{},"f:a":{}}}}}"#,
        r#"{"f:spec":{"f:list":{"k:{\"k\":1}":{"f:m":{"f:x":{"f:b":{},"f:c":{}}}}}}}"#,
        r#"{"f:spec":{"f:m":{"f:x":{"f:a":{}}}}}"#,
        r#"{"f:spec":{"f:m":{"f:y":{"f:c":{}},"f:z":{"f:b":{}}}}}"#,
        r#"{"f:spec":{"f:c":{}}}"#,
        r#"{"f:metadata":{"f:labels":{"f:a":{}}}}"#,
    ];
    let claims = || prop::option::of(prop::sample::select(&CLAIMS[..]));
    (claims(), claims()).prop_map(|claims| {
        let of = |manager: &str, claims: Option<&str>| {
            let fields: Value = serde_json::from_str(claims?).unwrap();
            Some(json!({
                "manager": manager, "operation": "Update", "apiVersion": "ex.io/v1",
                "fieldsType": "FieldsV1", "fieldsV1": fields,
            }))
        };
        let entries = [of("one", claims.0), of("two", claims.1)];
        entries.into_iter().flatten().collect()
    })
}

proptest! {
    /// field-gates.md §5/D12: whether claims have to be settled is found out without reading them whole.
    #[test]
    fn claims_differ_where_settling_them_changes_something(
        closed in vec(any::<bool>(), PATHS.len()),
        claimed in entries(),
        stored in entries(),
    ) {
        let Some(gates) = Gates::compile(&definition(&closed)) else { return Ok(()) };
        let read = |entries: &[Value]| ManagedFields::read(entries).unwrap();
        let settled = read(&claimed).restore_frozen_ownership(&read(&stored), |_, fields| gates.frozen(fields), |_, kept| kept);
        let differ = gates.changes_frozen_ownership(&claimed, &stored, |_| true);
        prop_assert_eq!(differ, settled != read(&claimed));
        prop_assert!(!gates.changes_frozen_ownership(&claimed, &stored, |_| false));
    }

    /// field-gates.md §5/D12: of fields of closed gates everybody owns what they owned, of others what they claim.
    #[test]
    fn settled_claims_are_the_stored_ones_on_fields_of_closed_gates(
        closed in vec(any::<bool>(), PATHS.len()),
        claimed in entries(),
        stored in entries(),
    ) {
        let Some(gates) = Gates::compile(&definition(&closed)) else { return Ok(()) };
        let (claimed, stored) = (ManagedFields::read(&claimed).unwrap(), ManagedFields::read(&stored).unwrap());
        let settled = claimed.clone().restore_frozen_ownership(&stored, |_, fields| gates.frozen(fields), |_, kept| kept);
        let mut expected: BTreeMap<Owner, BTreeSet<Vec<Element>>> = BTreeMap::new();
        for (claims, is_stored) in [(&claimed, false), (&stored, true)] {
            for (owner, entry) in claims.entries() {
                let frozen = gates.frozen(&entry.fields);
                let paths = entry.fields.paths().into_iter();
                let left: Vec<_> = paths.filter(|path| frozen.has(path) == is_stored).collect();
                if !left.is_empty() {
                    expected.entry(owner.clone()).or_default().extend(left);
                }
            }
        }
        let settled = settled.entries().map(|(owner, entry)| {
            (owner.clone(), entry.fields.paths().into_iter().collect())
        });
        prop_assert_eq!(settled.collect::<BTreeMap<_, BTreeSet<_>>>(), expected);
    }

    /// field-gates.md §5/D12: a change that does not concern closed gates is one that they leave as it is.
    #[test]
    fn what_gates_put_back_is_a_change_that_concerns_them(
        closed in vec(any::<bool>(), PATHS.len()),
        new in object(),
        old in object(),
    ) {
        let (new, old) = (without_twins(&new), without_twins(&old));
        let definition = definition(&closed);
        let Some(gates) = Gates::compile(&definition) else { return Ok(()) };
        let schema = definition.as_value().pointer("/spec/versions/0/schema/openAPIV3Schema");
        let types = Types::custom(&Schema::compile(schema.unwrap()).unwrap());
        let Ok(change) = types.object().compare(&old, &new) else { return Ok(()) };
        let is_put_back = !gates.apply(&mut new.clone(), Some(&old)).is_empty();
        prop_assert!(!is_put_back || gates.concerns(&change), "{change:?}");
        prop_assert!(!gates.concerns(&types.object().compare(&new, &new).unwrap()));
    }

    /// field-gates.md §14/property: equal to the stored value or absent at closed paths, to the request elsewhere; twice is once.
    #[test]
    fn a_gate_step_does_what_its_rows_say_and_no_more(
        closed in vec(any::<bool>(), PATHS.len()),
        new in object(),
        old in prop::option::of(object()),
    ) {
        let old = old.as_ref().map(without_twins);
        let mut actual = new.clone();
        let gates = Gates::compile(&definition(&closed));
        prop_assert_eq!(gates.is_some(), closed.contains(&true));
        let Some(gates) = gates else { return Ok(()) };
        let actions = gates.apply(&mut actual, old.as_ref());
        let paths = PATHS.iter().zip(&closed).filter(|(_, closed)| **closed);
        let paths: Vec<FieldPath> = paths.map(|(path, _)| FieldPath::parse(path).unwrap()).collect();
        prop_assert_eq!(&actual, &gated(&paths, &new, old.as_ref()));
        let changed = |actions: &[Action]| actions.iter().any(|action| action.kind.is_of_closed());
        prop_assert_eq!(changed(&actions), actual != new);
        let once = actual.clone();
        prop_assert!(!changed(&gates.apply(&mut actual, old.as_ref())));
        prop_assert_eq!(actual, once);
    }

    /// field-gates.md §14/fuzz.
    #[test]
    fn no_text_is_too_much_for_the_reader_of_paths(text in "[.\\[\\]'\"*a-c0\\\\ $ä-]{0,24}") {
        if let Ok(path) = FieldPath::parse(&text) {
            prop_assert_eq!(FieldPath::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn two_paths_overlap_or_not_whichever_comes_first(one in 0..PATHS.len(), other in 0..PATHS.len()) {
        let parse = |at: usize| FieldPath::parse(PATHS[at]).unwrap();
        let (one, other) = (parse(one), parse(other));
        prop_assert_eq!(one.overlaps(&other), other.overlaps(&one));
        prop_assert_eq!(one.covers(&other) && other.covers(&one), one == other);
    }
}

#[test]
fn gates_that_are_open_cost_nothing() {
    let open = definition(&[false; PATHS.len()]);
    assert!(Gates::compile(&open).is_none());
    assert!(Gates::compile(&Object::from_map(Map::new())).is_none());
}
