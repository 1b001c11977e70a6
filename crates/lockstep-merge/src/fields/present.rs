//! Restricts a field set to the paths that exist in an object.

use serde_json::Value;

use super::{Element, Node, Set, equal};

impl Set {
    /// The subset of paths that exist in a value. A list item that omits a key field matches any value of that key,
    /// because the key may be defaulted.
    #[must_use]
    pub fn present_in(&self, value: &Value) -> Self {
        self.map(|element, node| {
            let there = element.find_in(value)?;
            Some(Node {
                is_member: node.is_member,
                below: node.below.present_in(there),
            })
        })
    }
}

impl Element {
    /// Looks the element up in a value.
    fn find_in<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        let mut items = value.as_array().into_iter().flatten();
        match self {
            Self::Field(name) => value.get(&**name),
            Self::Keys(keys) => items.find(|item| {
                let fits = |own: &Value, datum: &Value| equal(own, datum);
                let mut keys = keys.iter();
                keys.all(|(name, datum)| item.get(&**name).is_none_or(|own| fits(own, &datum.0)))
            }),
            Self::Value(datum) => items.find(|item| equal(item, &datum.0)),
            Self::Index(index) => value.get(usize::try_from(*index).ok()?),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_to_nothing_are_left_out() {
        let fields = json!({
            "f:spec": {
                "f:foo": {".": {}, "f:qux": {}, "f:gone": {}},
                "f:went": {".": {}, "f:qux": {}},
                "f:jobs": {
                    "k:{\"name\":\"a\"}": {".": {}, "f:probe": {}},
                    "k:{\"name\":\"b\"}": {".": {}, "f:probe": {}},
                },
                "f:tags": {"v:\"x\"": {}, "v:\"y\"": {}},
                "f:args": {"i:0": {}, "i:1": {}, "i:-1": {}},
            },
        });
        let object = json!({"spec": {
            "foo": {"qux": null}, "jobs": [{"name": "b", "probe": 1}], "tags": ["y"], "args": [1],
        }});
        let left = json!({
            "f:spec": {
                "f:foo": {".": {}, "f:qux": {}},
                "f:jobs": {"k:{\"name\":\"b\"}": {".": {}, "f:probe": {}}},
                "f:tags": {"v:\"y\"": {}},
                "f:args": {"i:0": {}},
            },
        });
        let set = Set::from_fields(&fields).expect("a set");
        assert_eq!(set.present_in(&object).to_fields(), left);
        assert!(set.present_in(&json!(7)).is_empty());
    }
}
