//! Fields that can have an owner in `managedFields`, by resource and subresource.

use lockstep_kinds::{Table, typed};
use lockstep_merge::fields::Set;
use lockstep_object::metadata::StatusField;
use lockstep_object::{Map, Value};

use super::{Origin, Resource, Subresource};

/// Empty object of a kind, the base of ownership comparison. A built-in kind has the fields that its Go type always
/// prints.
pub(super) fn empty(resource: &Resource, api_version: &str) -> Value {
    let mut empty = Map::new();
    let version = match resource.origin {
        Origin::BuiltIn => resource.version_of(api_version),
        Origin::Custom | Origin::Own => None,
    };
    let table = Table::builtin();
    let id = version.and_then(|version| {
        let version = &resource.versions[version].name;
        table.kind(&resource.group, version, &resource.kind)
    });
    if let Some(id) = id {
        // An empty map has no field of a wrong type.
        let read = typed::read(table, id, &mut empty, &mut Vec::new());
        read.expect("an empty map is an object of every kind");
    }
    Value::Object(empty)
}

/// Removes fields without ownership from a set: those that a write to the subresource, or to the main resource,
/// resets.
pub(super) fn ownable(
    resource: &Resource,
    api_version: &str,
    subresource: Option<Subresource>,
    fields: Set,
) -> Set {
    let version = resource.version_of(api_version);
    let status = version.map(|version| resource.strategy.status(version));
    match (subresource, status) {
        (Some(Subresource::Status), _) if resource.origin != Origin::BuiltIn => {
            fields.only("status")
        }
        (None, Some(StatusField::Part) | None) => fields,
        (_, _) => {
            let reset = resource.strategy.reset_fields();
            let reset = match subresource {
                Some(Subresource::Status) => reset.status,
                Some(Subresource::Approval) => reset.approval,
                _ => reset.other,
            };
            fields.without(&Set::of_fields(reset))
        }
    }
}
