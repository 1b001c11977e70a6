//! Changes of an object that was decoded here, carried over to the object that a client sent.

use lockstep_admission::diff::same;
use lockstep_object::Value;

/// Most pairs of elements that are compared to find an element again.
const PAIRS_MAX: usize = 1 << 20;

/// Applies the changes between `before` and `after` to `original`, of which `before` is a copy that lacks fields unknown
/// here and has defaults in addition. So fields of a newer cluster survive, and its defaults stay its own.
pub fn carry(original: &Value, before: &Value, after: &Value) -> Value {
    match (original, before, after) {
        _ if same(before, after) => original.clone(),
        (Value::Object(own), Value::Object(old), Value::Object(new)) => {
            let mut carried = own.clone();
            carried.retain(|name, _| new.contains_key(name) || !old.contains_key(name));
            for (name, value) in new {
                let value = match (own.get(name), old.get(name)) {
                    (Some(own), Some(old)) => carry(own, old, value),
                    (None, Some(old)) if same(old, value) => continue,
                    _ => value.clone(),
                };
                carried.insert(name.clone(), value);
            }
            carried.into()
        }
        (Value::Array(own), Value::Array(old), Value::Array(new)) if own.len() == old.len() => {
            elements(own, old, new).into()
        }
        _ => after.clone(),
    }
}

/// Elements of the new list, each carried over from the element that it was.
fn elements(own: &[Value], old: &[Value], new: &[Value]) -> Vec<Value> {
    let mut is_used = vec![false; old.len()];
    let is_small = old.len().saturating_mul(new.len()) <= PAIRS_MAX;
    let mut origins: Vec<Option<usize>> = vec![None; new.len()];
    // Elements that did not change are found first, then those with the same name, then those in the same place.
    for is_match in [same, has_same_name] {
        for (at, value) in new.iter().enumerate() {
            if origins[at].is_some() {
                continue;
            }
            let in_place = old.get(at).is_some_and(|old| is_match(old, value)) && !is_used[at];
            let found = if in_place {
                Some(at)
            } else if is_small {
                let mut all = old.iter().enumerate();
                all.find(|(from, old)| !is_used[*from] && is_match(old, value))
                    .map(|(from, _)| from)
            } else {
                None
            };
            if let Some(from) = found {
                is_used[from] = true;
                origins[at] = Some(from);
            }
        }
    }
    let carried = new.iter().enumerate().map(|(at, value)| {
        let is_unnamed = |old: &Value| !old["name"].is_string() || has_same_name(old, value);
        let is_same_place = old.len() == new.len() && !is_used[at] && is_unnamed(&old[at]);
        let place = is_same_place.then_some(at);
        match origins[at].or(place) {
            Some(from) => carry(&own[from], &old[from], value),
            None => value.clone(),
        }
    });
    carried.collect()
}

/// True for elements of a list by name with one name.
fn has_same_name(one: &Value, other: &Value) -> bool {
    one["name"].is_string() && one["name"] == other["name"]
}

#[cfg(test)]
mod tests {
    use lockstep_admission::diff::json_patch;
    use lockstep_merge::JsonPatch;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_are_unknown_here_survive_and_defaults_are_left_to_the_cluster() {
        let original = json!({
            "new": 1,
            "list": [{ "name": "a", "new": 2 }, { "name": "b", "new": 3 }],
            "gone": true,
        });
        let before = json!({
            "list": [{ "name": "a", "default": 0 }, { "name": "b", "default": 0 }],
            "gone": true,
            "default": { "x": 1 },
        });
        let after = json!({
            "list": [{ "name": "c" }, { "name": "b", "default": 0, "changed": 1 }],
            "default": { "x": 1 },
            "added": "y",
        });
        let expected = json!({
            "new": 1,
            "list": [{ "name": "c" }, { "name": "b", "new": 3, "changed": 1 }],
            "added": "y",
        });
        assert_eq!(carry(&original, &before, &after), expected);
    }

    #[test]
    fn an_element_before_the_others_moves_them_with_all_they_have() {
        let original = json!([{ "name": "a", "new": 1 }, "x"]);
        let before = json!([{ "name": "a" }, "x"]);
        let after = json!([{ "name": "sidecar" }, { "name": "a" }, "x"]);
        let expected = json!([{ "name": "sidecar" }, { "name": "a", "new": 1 }, "x"]);
        assert_eq!(carry(&original, &before, &after), expected);
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4i64).prop_map(Value::from),
            "[a~/]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            let entries = prop::collection::btree_map("[ab~/]{1,2}|name", inner.clone(), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                entries.prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn objects() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[ab]{1,2}", values(), 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        /// mutating-admission.md §3.8: a patch applies under strict RFC 6902 and gives the mutated object.
        #[test]
        fn what_was_decoded_without_loss_becomes_what_policies_made(
            before in objects(),
            after in objects(),
        ) {
            prop_assert!(same(&carry(&before, &before, &after), &after));
        }

        /// mutating-admission.md §3.8
        #[test]
        fn a_patch_of_what_was_carried_over_applies_strictly(
            original in objects(),
            before in objects(),
            after in objects(),
        ) {
            let carried = carry(&original, &before, &after);
            let patch = Value::from(json_patch(&original, &carried));
            let mut patched = original.clone();
            crate::answer::strict::apply(&mut patched, &patch).map_err(TestCaseError::fail)?;
            prop_assert!(same(&patched, &carried), "{patch}");
            let mut lenient = original;
            JsonPatch::from_value(&patch).unwrap().apply(&mut lenient).unwrap();
            prop_assert!(same(&lenient, &carried));
        }
    }
}
