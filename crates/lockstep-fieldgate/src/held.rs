//! Frozen fields in versions that a conversion webhook produces, where gate paths (of the storage version) do not
//! apply.

use lockstep_merge::fields::Set;
use lockstep_merge::types::Type;
use lockstep_object::Value;

use crate::gates::Gates;

/// The states of an object around a write, all converted to one version.
#[derive(Debug, Clone, Copy)]
pub struct Versions<'v> {
    /// The stored object.
    pub stored: &'v Value,
    /// The stored object without fields of closed gates: see [`Gates::bare`].
    pub bare: &'v Value,
    /// The object to be stored.
    pub next: &'v Value,
}

impl Gates {
    /// A stored object without its fields of closed gates; none if it has no such fields.
    pub fn bare(&self, stored: &Value) -> Option<Value> {
        let mut bare = stored.clone();
        let actions = self.apply(&mut bare, None);
        let is_less = actions.iter().any(|action| action.kind.is_of_closed());
        is_less.then_some(bare)
    }
}

/// Fields of a version that depend on frozen fields: those that change if the frozen fields of the stored version are
/// removed. A field that the write changes is not frozen, since it depends on other values too.
pub fn held(of_version: Type<'_>, versions: Versions<'_>) -> Set {
    let Versions { stored, bare, next } = versions;
    difference(of_version, stored, bare).without(&difference(of_version, stored, next))
}

/// Paths at which two objects differ. Objects that do not match the type have no field ownership, so the result is
/// empty.
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

    /// field-gates.md §5/D12: a renamed field of a closed gate is frozen.
    #[test]
    fn what_is_otherwise_without_closed_fields_is_held() {
        let stored = json!({"count": 3, "image": "a"});
        let count = json!({"f:spec": {"f:count": {}}});
        let bare = json!({"image": "a"});
        check(&stored, &bare, &stored, &count);
        // A webhook that fills in a default makes no difference.
        check(&stored, &json!({"count": 1, "image": "a"}), &stored, &count);
        let next = json!({"count": 3, "image": "b"});
        check(&stored, &bare, &next, &count);
        check(&stored, &stored, &next, &json!({}));
    }

    /// A field computed from two stored fields can still be changed, and the writer owns it.
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
        // Removing the parent removes its members.
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
