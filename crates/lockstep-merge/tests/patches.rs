//! Patches, case by case.

use lockstep_merge::{
    COPIED_BYTES_MAX, JsonPatch, JsonPatchError, OPERATIONS_MAX, PatchSyntaxError, merge_patch,
};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    json: Option<Value>,
    merge: Option<Value>,
    to: Value,
    gives: Option<Value>,
    error: Option<String>,
}

#[test]
fn a_patch_gives_what_upstream_gives_or_its_refusal() {
    let cases: Vec<Case> =
        serde_saphyr::from_str(include_str!("cases/patches.yaml")).expect("the cases are readable");
    for case in cases {
        let mut target = case.to.clone();
        let result = match (&case.json, &case.merge) {
            (Some(patch), None) => json_patch(&mut target, patch),
            (None, Some(patch)) => {
                merge_patch(&mut target, patch.clone());
                Ok(())
            }
            _ => panic!("a case has one patch"),
        };
        let told = format!("{:?} {:?} to {}", case.json, case.merge, case.to);
        match (result, case.gives, case.error) {
            (Ok(()), Some(expected), None) => assert_eq!(target, expected, "{told}"),
            (Err(error), None, Some(expected)) => {
                assert_eq!(error, expected, "{told}");
                assert_eq!(
                    target, case.to,
                    "a patch that fails changes nothing: {told}"
                );
            }
            (result, _, _) => panic!("{told}: {result:?}, {target}"),
        }
    }
}

fn json_patch(target: &mut Value, patch: &Value) -> Result<(), String> {
    let patch = JsonPatch::read(patch.clone()).map_err(|error| error.to_string())?;
    patch.apply(target).map_err(|error| error.to_string())
}

#[test]
fn operations_and_copies_are_limited() {
    let operation = json!({ "op": "add", "path": "/a", "value": 1 });
    let many = |count: usize| Value::from(vec![operation.clone(); count]);
    assert!(JsonPatch::read(many(OPERATIONS_MAX)).is_ok());
    let operations = OPERATIONS_MAX + 1;
    assert_eq!(
        JsonPatch::read(many(operations)),
        Err(PatchSyntaxError::TooMany { operations })
    );
    let mut target = json!({ "a": "x".repeat(COPIED_BYTES_MAX / 2) });
    let copy = json!({ "op": "copy", "from": "/a", "path": "/b" });
    let patch = JsonPatch::read(Value::from(vec![copy; 3])).expect("a sound patch");
    assert_eq!(
        patch.apply(&mut target),
        Err(JsonPatchError::TooLarge { at: 1 })
    );
}

#[test]
fn fields_that_mean_nothing_are_named() {
    let patch = json!([
        { "op": "remove", "path": "/a", "value": 1, "from": "/b" },
        { "op": "remove", "path": "/b", "foo": 1, "bar": 2 },
    ]);
    let patch = JsonPatch::read(patch).expect("a sound patch");
    assert_eq!(patch.unknown_fields(), ["[1].bar", "[1].foo"]);
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// RFC 7386 in its own words, for comparison.
fn naive_merge(target: Value, patch: Value) -> Value {
    let Value::Object(patch) = patch else {
        return patch;
    };
    let mut fields = match target {
        Value::Object(fields) => fields,
        _ => serde_json::Map::new(),
    };
    for (field, change) in patch {
        if change.is_null() {
            fields.remove(&field);
        } else {
            let old = fields.remove(&field).unwrap_or_default();
            fields.insert(field, naive_merge(old, change));
        }
    }
    Value::Object(fields)
}

proptest! {
    #[test]
    fn merging_is_what_the_standard_says_and_twice_is_once(target in value(), patch in value()) {
        let mut merged = target.clone();
        merge_patch(&mut merged, patch.clone());
        prop_assert_eq!(&merged, &naive_merge(target, patch.clone()));
        let mut twice = merged.clone();
        merge_patch(&mut twice, patch);
        prop_assert_eq!(twice, merged);
    }

    #[test]
    fn no_patch_is_too_strange(target in value(), patch in value(), path in "(/[-abc0-3~]{0,3}){0,3}", op in "add|remove|replace|move|copy|test") {
        let mut target = target;
        let operation = json!([{ "op": op, "path": path, "from": path, "value": patch }]);
        if let Ok(patch) = JsonPatch::read(operation) {
            let _told = patch.apply(&mut target).map_err(|error| error.to_string());
        }
        let _told = JsonPatch::read(patch).map_err(|error| error.to_string());
    }
}
