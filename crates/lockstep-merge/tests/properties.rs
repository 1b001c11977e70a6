//! Properties of every patch.

use lockstep_merge::{
    COPY_BYTES_MAX, JsonPatch, JsonPatchError, MOVED_VALUES_MAX, OPERATIONS_MAX,
    SHIFTED_VALUES_MAX, merge_patch,
};
use lockstep_object::json::{DEPTH_MAX, depth};
use proptest::prelude::*;
use serde_json::{Value, json};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0_i64..3).prop_map(Value::from),
        "[ab]".prop_map(Value::from)
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..3)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn operation() -> impl Strategy<Value = Value> {
    let path = "(/(a|b|c|0|1|-|-1|-5|x~1)){0,3}";
    let kind = prop::sample::select(vec![
        "add", "remove", "replace", "move", "copy", "test", "?",
    ]);
    (kind, path, path, value()).prop_map(
        |(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value}),
    )
}

proptest! {
    #[test]
    fn no_patch_makes_the_rules_panic(object in value(), operations in prop::collection::vec(operation(), 0..6)) {
        if let Ok(patch) = JsonPatch::from_value(&Value::from(operations)) {
            let mut changed = object;
            let once = patch.apply(&mut changed);
            prop_assert!(depth(&changed) <= DEPTH_MAX, "{:?}", once);
        }
    }

    #[test]
    fn a_merge_patch_twice_is_the_patch_once(object in value(), patch in value()) {
        let mut once = object;
        merge_patch(&mut once, &patch);
        let mut twice = once.clone();
        merge_patch(&mut twice, &patch);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn what_is_added_can_be_tested_and_removed(object in prop::collection::btree_map("[abc]", value(), 0..3), added in value()) {
        let object = Value::Object(object.into_iter().collect());
        let patch = json!([
            {"op": "add", "path": "/new", "value": added},
            {"op": "test", "path": "/new", "value": added},
            {"op": "remove", "path": "/new"},
        ]);
        let mut changed = object.clone();
        prop_assert_eq!(JsonPatch::from_value(&patch).expect("it is a patch").apply(&mut changed), Ok(()));
        prop_assert_eq!(changed, object);
    }
}

fn refused(object: &mut Value, operations: Vec<Value>) -> String {
    let patch = JsonPatch::from_value(&Value::from(operations)).expect("it is a patch");
    patch.apply(object).expect_err("it is too much").to_string()
}

/// api-machinery.md §9: at most 10,000 operations
#[test]
fn too_many_operations_are_refused() {
    let patch = Value::from(vec![json!({}); OPERATIONS_MAX + 1]);
    let error = JsonPatch::from_value(&patch).expect_err("they are too many");
    assert_eq!(error, JsonPatchError::TooManyOperations(10_001));
    assert_eq!(
        error.to_string(),
        "The allowed maximum operations in a JSON patch is 10000, got 10001"
    );
}

/// api-machinery.md §9: copy growth at most 3 MiB
#[test]
fn copies_that_double_an_object_end_at_the_limit() {
    let mut object = json!({"a": "x".repeat(1000)});
    let double = || json!({"op": "copy", "from": "/a", "path": "/a2"});
    let operations =
        std::iter::once(json!({"op": "replace", "path": "/a", "value": ["x".repeat(1000)]}))
            .chain((0..30).flat_map(|_| {
                [
                    double(),
                    json!({"op": "move", "from": "/a2", "path": "/a/-"}),
                ]
            }))
            .collect();
    let error = refused(&mut object, operations);
    assert_eq!(
        error,
        format!("operation 23: copying adds more than {COPY_BYTES_MAX} bytes")
    );
}

#[test]
fn a_patch_cannot_nest_deeper_than_documents() {
    let mut object = json!({"a": {}, "b": {}});
    let nest = [
        json!({"op": "move", "from": "/a", "path": "/b/c"}),
        json!({"op": "move", "from": "/b", "path": "/a"}),
        json!({"op": "add", "path": "/b", "value": {}}),
    ];
    let operations = std::iter::repeat_n(nest, DEPTH_MAX).flatten().collect();
    let error = refused(&mut object, operations);
    assert!(
        error.ends_with(&format!("exceeded max depth of {DEPTH_MAX}")),
        "{error}"
    );
    assert!(depth(&object) <= DEPTH_MAX);
}

#[test]
fn moving_a_large_value_to_and_fro_ends() {
    let mut object = json!({"a": vec![1; 10_000]});
    let operations = (0..OPERATIONS_MAX).map(|turn| {
        let (from, path) = if turn % 2 == 0 {
            ("/a", "/b")
        } else {
            ("/b", "/a")
        };
        json!({"op": "move", "from": from, "path": path})
    });
    let error = refused(&mut object, operations.collect());
    assert_eq!(
        error,
        format!("operation 999: moving carries more than {MOVED_VALUES_MAX} values")
    );
}

/// api-machinery.md §9/json-patch: as many operations as there may be on the front of as long a list as there may be.
#[test]
fn a_long_list_that_is_shifted_again_and_again_ends() {
    for operation in [
        json!({"op": "add", "path": "/a/0", "value": 1}),
        json!({"op": "remove", "path": "/a/0"}),
        json!({"op": "move", "from": "/a/-1", "path": "/a/0"}),
        json!({"op": "copy", "from": "/a/0", "path": "/a/0"}),
    ] {
        let mut object = json!({"a": vec![1; 700_000]});
        let error = refused(&mut object, vec![operation; OPERATIONS_MAX]);
        let expected = format!("lists are shifted by more than {SHIFTED_VALUES_MAX} values");
        assert!(error.ends_with(&expected), "{error}");
    }
    // A list of which half goes from the front is nothing special.
    let mut object = json!({"a": vec![1; 2 * OPERATIONS_MAX]});
    let operations = vec![json!({"op": "remove", "path": "/a/0"}); OPERATIONS_MAX];
    let patch = JsonPatch::from_value(&Value::Array(operations)).unwrap();
    patch.apply(&mut object).unwrap();
    assert_eq!(object, json!({"a": vec![1; OPERATIONS_MAX]}));
}

fn patch_with_directives() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        (0_i64..3).prop_map(Value::from),
        prop::sample::select(vec!["a", "b", "delete", "replace", "merge", "odd"])
            .prop_map(Value::from)
    ];
    let names = vec![
        "metadata",
        "spec",
        "containers",
        "name",
        "env",
        "finalizers",
        "labels",
        "volumes",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$deleteFromPrimitiveList/finalizers",
        "$setElementOrder",
        "$deleteFromPrimitiveList",
    ];
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(names.clone()), inner, 0..4).prop_map(
                |entries| {
                    let entries = entries.into_iter();
                    Value::Object(
                        entries
                            .map(|(name, value)| (name.to_owned(), value))
                            .collect(),
                    )
                }
            ),
        ]
    })
}

proptest! {
    #[test]
    fn no_strategic_patch_makes_the_rules_panic(object in patch_with_directives(), patch in patch_with_directives()) {
        let table = lockstep_kinds::Table::builtin();
        let pod = table.kind("", "v1", "Pod").expect("it is built in");
        if let (Value::Object(mut object), Value::Object(patch)) = (object, patch) {
            let depth_before = depth(&Value::Object(object.clone())).max(depth(&Value::Object(patch.clone())));
            if lockstep_merge::strategic_merge(table, pod, &mut object, patch).is_ok() {
                prop_assert!(depth(&Value::Object(object)) <= depth_before);
            }
        }
    }
}
