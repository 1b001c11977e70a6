//! Differences of two values: as paths, and as a JSON patch.

use std::collections::BTreeSet;

use lockstep_cel::paths::Segment;
use lockstep_object::Value;
use serde_json::json;

/// Paths at which two values differ. A list whose length changed is one path.
pub fn changed_paths(before: &Value, after: &Value) -> BTreeSet<Vec<Segment>> {
    let mut paths = BTreeSet::new();
    collect(before, after, &mut Vec::new(), &mut paths);
    paths
}

fn collect(
    before: &Value,
    after: &Value,
    at: &mut Vec<Segment>,
    paths: &mut BTreeSet<Vec<Segment>>,
) {
    match (before, after) {
        _ if same(before, after) => {}
        (Value::Object(old), Value::Object(new)) => {
            let gone = old.keys().filter(|name| !new.contains_key(*name));
            for name in gone.chain(new.keys()) {
                at.push(Segment::Field(name.as_str().into()));
                match (old.get(name), new.get(name)) {
                    (Some(before), Some(after)) => collect(before, after, at, paths),
                    _ => {
                        paths.insert(at.clone());
                    }
                }
                at.pop();
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (before, after)) in old.iter().zip(new).enumerate() {
                at.push(Segment::Index(i64::try_from(index).unwrap_or(i64::MAX)));
                collect(before, after, at, paths);
                at.pop();
            }
        }
        _ => {
            paths.insert(at.clone());
        }
    }
}

/// True if two values are equal, where `1` equals `1.0`.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64() && (one.is_f64() || other.is_f64())
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(name, value)| other.get(name).is_some_and(|other| same(value, other)))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        _ => one == other,
    }
}

/// True if one path is the other or lies above it. Wildcards match every position and key.
pub fn overlap(one: &[Segment], other: &[Segment]) -> bool {
    let mut pairs = one.iter().zip(other);
    pairs.all(|(one, other)| {
        matches!((one, other), (Segment::Any, _) | (_, Segment::Any)) || one == other
    })
}

/// A path in the form of messages: `.spec.containers[0].image`.
pub fn shown(path: &[Segment]) -> String {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c == '_' || c == '-' || c.is_ascii_alphanumeric())
    };
    let steps = path.iter().map(|segment| match segment {
        Segment::Field(name) if is_name(name) => format!(".{name}"),
        Segment::Field(name) => format!("[{name:?}]"),
        Segment::Index(index) => format!("[{index}]"),
        Segment::Any => "[*]".to_owned(),
    });
    let text: String = steps.collect();
    if text.is_empty() {
        ".".to_owned()
    } else {
        text
    }
}

/// A JSON patch that turns one value into another under strict RFC 6902: parents before their members, removals from
/// a list from the back.
pub fn json_patch(before: &Value, after: &Value) -> Vec<Value> {
    let mut operations = Vec::new();
    patch(before, after, "", &mut operations);
    operations
}

fn patch(before: &Value, after: &Value, at: &str, operations: &mut Vec<Value>) {
    match (before, after) {
        _ if same(before, after) => {}
        (Value::Object(old), Value::Object(new)) => {
            for name in old.keys().filter(|name| !new.contains_key(*name)) {
                operations.push(json!({ "op": "remove", "path": below(at, name) }));
            }
            for (name, value) in new {
                let path = below(at, name);
                match old.get(name) {
                    Some(before) => patch(before, value, &path, operations),
                    None => operations.push(json!({ "op": "add", "path": path, "value": value })),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => patch_list(old, new, at, operations),
        _ => operations.push(json!({ "op": "replace", "path": at, "value": after })),
    }
}

/// Elements that both lists have at their start and end stay; those in between are changed one by one.
fn patch_list(old: &[Value], new: &[Value], at: &str, operations: &mut Vec<Value>) {
    let pairs = old.iter().zip(new);
    let start = pairs.take_while(|(old, new)| same(old, new)).count();
    let (old, new) = (&old[start..], &new[start..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let end = pairs.take_while(|(old, new)| same(old, new)).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);
    for (index, (before, after)) in old.iter().zip(new).enumerate() {
        patch(
            before,
            after,
            &format!("{at}/{}", start + index),
            operations,
        );
    }
    for index in (new.len()..old.len()).rev() {
        operations.push(json!({ "op": "remove", "path": format!("{at}/{}", start + index) }));
    }
    for (index, value) in new.iter().enumerate().skip(old.len()) {
        let path = format!("{at}/{}", start + index);
        operations.push(json!({ "op": "add", "path": path, "value": value }));
    }
}

fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_merge::JsonPatch;
    use proptest::prelude::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (0..4i64).prop_map(Value::from),
            "[a~/]{0,2}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[ab~/]{1,2}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn objects() -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[ab]{1,2}", values(), 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    proptest! {
        /// mutating-admission.md §3.8: the patch applies under RFC 6902 and gives the object.
        #[test]
        fn the_patch_of_two_objects_turns_one_into_the_other(before in objects(), after in objects()) {
            let operations = Value::from(json_patch(&before, &after));
            let mut patched = before.clone();
            JsonPatch::from_value(&operations).unwrap().apply(&mut patched).unwrap();
            prop_assert_eq!(&patched, &after, "{}", operations);
            let is_negative = operations.to_string().contains("/-");
            prop_assert!(!is_negative);
            prop_assert_eq!(changed_paths(&before, &after).is_empty(), before == after);
        }
    }

    #[test]
    fn paths_overlap_if_one_is_above_the_other() {
        let field = |name: &str| Segment::Field(name.into());
        let image = [field("c"), Segment::Any, field("image")];
        assert!(overlap(&image, &[field("c"), Segment::Index(3)]));
        assert!(overlap(&[], &image));
        assert!(!overlap(
            &image,
            &[field("c"), Segment::Index(3), field("name")]
        ));
        assert_eq!(
            shown(&[field("a"), field("x/y"), Segment::Index(0)]),
            ".a[\"x/y\"][0]"
        );
    }
}
