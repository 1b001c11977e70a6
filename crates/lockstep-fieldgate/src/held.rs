//! What closed gates hold in a version that a webhook makes of the stored one, where paths of gates say nothing.

use lockstep_merge::fields::Set;
use lockstep_merge::types::Type;
use lockstep_object::Value;

use crate::gates::Gates;

/// An object around a write, in one version.
#[derive(Debug, Clone, Copy)]
pub struct Versions<'v> {
    /// As it is stored.
    pub stored: &'v Value,
    /// The same without fields of closed gates: see [`Gates::bare`].
    pub bare: &'v Value,
    /// As it will be stored.
    pub next: &'v Value,
}

impl Gates {
    /// An object of the stored version without what closed gates hold of it; none if they hold nothing.
    pub fn bare(&self, stored: &Value) -> Option<Value> {
        let mut bare = stored.clone();
        let actions = self.apply(&mut bare, None);
        let is_less = actions.iter().any(|action| action.kind.is_of_closed());
        is_less.then_some(bare)
    }
}

/// The fields of a version that closed gates hold: those that are otherwise without what the gates hold of the stored
/// version. A field that the write changes is not held: more than such a value makes it.
pub fn held(of_version: Type<'_>, versions: Versions<'_>) -> Set {
    let Versions { stored, bare, next } = versions;
    difference(of_version, stored, bare).without(&difference(of_version, stored, next))
}

/// Where objects of a type are not the same. What is not of its type has no claims, so nothing is said of it.
pub fn difference(of_version: Type<'_>, one: &Value, other: &Value) -> Set {
    let compared = of_version.compare(one, other);
    compared.map_or_else(
        |_| Set::default(),
        |compared| compared.changed().union(&compared.removed),
    )
}

#[cfg(test)]
mod tests {
    use lockstep_merge::types::Types;
    use lockstep_object::Object;
    use lockstep_schema::Schema;
    use serde_json::json;

    use super::*;

    fn check(stored: &Value, bare: &Value, next: &Value, expected: &Value) {
        let whole = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "cpu": {"type": "integer"}, "gpu": {"type": "integer"},
        }});
        let spec = json!({"type": "object", "properties": {
            "count": {"type": "integer"}, "image": {"type": "string"}, "address": {"type": "string"}, "limits": whole,
        }});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let types = Types::custom(&Schema::compile(&schema).expect("it is a schema"));
        let in_spec = |spec: &Value| json!({"spec": spec});
        let (stored, bare, next) = (in_spec(stored), in_spec(bare), in_spec(next));
        let versions = Versions {
            stored: &stored,
            bare: &bare,
            next: &next,
        };
        assert_eq!(
            &held(types.object(), versions).to_fields(),
            expected,
            "{versions:?}"
        );
    }

    /// field-gates.md §5/D12, where the number is closed, and called otherwise than in the path of the gate.
    #[test]
    fn what_is_otherwise_without_closed_fields_is_held() {
        let stored = json!({"count": 3, "image": "a"});
        let count = json!({"f:spec": {"f:count": {}}});
        let bare = json!({"image": "a"});
        check(&stored, &bare, &stored, &count);
        // A webhook that fills in a number of its own makes no difference.
        check(&stored, &json!({"count": 1, "image": "a"}), &stored, &count);
        let next = json!({"count": 3, "image": "b"});
        check(&stored, &bare, &next, &count);
        check(&stored, &stored, &next, &json!({}));
    }

    /// Two fields of the stored version are one of this: it can still be changed, and whoever does so owns it.
    #[test]
    fn what_a_write_changes_is_not_held() {
        let stored = json!({"address": "host:80"});
        let (bare, moved) = (json!({"address": "host"}), json!({"address": "other:80"}));
        check(&stored, &bare, &moved, &json!({}));
        check(
            &stored,
            &bare,
            &stored,
            &json!({"f:spec": {"f:address": {}}}),
        );
        let stored = json!({"limits": {"cpu": 1, "gpu": 2}});
        let (bare, next) = (
            json!({"limits": {"cpu": 1}}),
            json!({"limits": {"cpu": 5, "gpu": 2}}),
        );
        check(&stored, &bare, &next, &json!({}));
        check(
            &stored,
            &bare,
            &stored,
            &json!({"f:spec": {"f:limits": {}}}),
        );
        // Whoever takes the parent away takes what lies in it.
        check(&json!({"count": 3}), &json!({}), &json!({}), &json!({}));
    }

    #[test]
    fn an_object_is_bare_without_fields_of_closed_gates() {
        let definition = json!({"spec": {
            "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "replicas": {"type": "integer"}, "old": {"type": "integer"}, "image": {"type": "string"},
                }}},
            }}}],
            "customFeatureGates": {"featureGates": [
                {"name": "R", "preRelease": "alpha", "fieldPaths": [".spec.replicas"]},
                {"name": "O", "preRelease": "deprecated", "default": true, "fieldPaths": [".spec.old"]},
            ]},
        }});
        let definition = Object::from_value(definition).expect("it is a map");
        let gates = Gates::compile(&definition).expect("a gate is closed");
        let stored = json!({"spec": {"replicas": 0, "old": 1, "image": "a"}});
        let bare = json!({"spec": {"old": 1, "image": "a"}});
        assert_eq!((gates.bare(&stored), gates.bare(&bare)), (Some(bare), None));
    }
}
