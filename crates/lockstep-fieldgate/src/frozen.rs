//! Frozen fields in versions that a conversion webhook produces, where gate paths (of the storage version) do not
//! apply.

use lockstep_merge::fields::Set;
use lockstep_merge::types::Type;
use lockstep_object::Value;

use crate::gates::Gates;

/// The states of an object around a write, all converted to one version.
#[derive(Debug, Clone, Copy)]
pub struct ObjectStates<'v> {
    /// The stored object.
    pub stored: &'v Value,
    /// The stored object without fields of closed gates: see [`Gates::without_closed_fields`].
    pub without_closed: &'v Value,
    /// The object to be stored.
    pub next: &'v Value,
}

impl Gates {
    /// A stored object without its fields of closed gates; none if it has no such fields.
    pub fn without_closed_fields(&self, stored: &Value) -> Option<Value> {
        let mut without_closed = stored.clone();
        let actions = self.apply(&mut without_closed, None);
        let is_less = actions.iter().any(|action| action.kind.is_of_closed());
        is_less.then_some(without_closed)
    }
}

/// Fields of a version that depend on frozen fields: those that change if the frozen fields of the stored version are
/// removed. A field that the write changes is not frozen, since it depends on other values too.
pub fn frozen_in_version(of_version: Type<'_>, states: ObjectStates<'_>) -> Set {
    let ObjectStates {
        stored,
        without_closed,
        next,
    } = states;
    difference(of_version, stored, without_closed).without(&difference(of_version, stored, next))
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

    fn check(stored: &Value, without_closed: &Value, next: &Value, expected: &Value) {
        let whole = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
            "cpu": {"type": "integer"}, "gpu": {"type": "integer"},
        }});
        let spec = json!({"type": "object", "properties": {
            "count": {"type": "integer"}, "image": {"type": "string"}, "address": {"type": "string"}, "limits": whole,
        }});
        let schema = json!({"type": "object", "properties": {"spec": spec}});
        let types = Types::custom(&Schema::compile(&schema).expect("it is a schema"));
        let in_spec = |spec: &Value| json!({"spec": spec});
        let (stored, without_closed, next) =
            (in_spec(stored), in_spec(without_closed), in_spec(next));
        let states = ObjectStates {
            stored: &stored,
            without_closed: &without_closed,
            next: &next,
        };
        assert_eq!(
            &frozen_in_version(types.object(), states).to_fields(),
            expected,
            "{states:?}"
        );
    }

    /// field-gates.md §5/D12: a renamed field of a closed gate is frozen.
    #[test]
    fn a_field_that_differs_without_closed_fields_is_frozen() {
        let stored = json!({"count": 3, "image": "a"});
        let count = json!({"f:spec": {"f:count": {}}});
        let without_closed = json!({"image": "a"});
        check(&stored, &without_closed, &stored, &count);
        // A webhook that fills in a default makes no difference.
        check(&stored, &json!({"count": 1, "image": "a"}), &stored, &count);
        let next = json!({"count": 3, "image": "b"});
        check(&stored, &without_closed, &next, &count);
        check(&stored, &stored, &next, &json!({}));
    }

    /// A field computed from two stored fields can still be changed, and the writer owns it.
    #[test]
    fn a_field_that_the_write_changes_is_not_frozen() {
        let stored = json!({"address": "host:80"});
        let (without_closed, moved) = (json!({"address": "host"}), json!({"address": "other:80"}));
        check(&stored, &without_closed, &moved, &json!({}));
        check(
            &stored,
            &without_closed,
            &stored,
            &json!({"f:spec": {"f:address": {}}}),
        );
        let stored = json!({"limits": {"cpu": 1, "gpu": 2}});
        let (without_closed, next) = (
            json!({"limits": {"cpu": 1}}),
            json!({"limits": {"cpu": 5, "gpu": 2}}),
        );
        check(&stored, &without_closed, &next, &json!({}));
        check(
            &stored,
            &without_closed,
            &stored,
            &json!({"f:spec": {"f:limits": {}}}),
        );
        // Removing the parent removes its members.
        check(&json!({"count": 3}), &json!({}), &json!({}), &json!({}));
    }

    #[test]
    fn fields_of_closed_gates_are_removed() {
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
        let without_closed = json!({"spec": {"old": 1, "image": "a"}});
        assert_eq!(
            (
                gates.without_closed_fields(&stored),
                gates.without_closed_fields(&without_closed)
            ),
            (Some(without_closed), None)
        );
    }
}
