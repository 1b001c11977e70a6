//! What of objects can be owned, and what they have before anybody owns anything.

use lockstep_builtins::parts;
use lockstep_kinds::{Table, typed};
use lockstep_merge::fields::Set;
use lockstep_object::metadata::StatusField;
use lockstep_object::{Map, Value};

use super::{Origin, Resource, Subresource};

/// What an object has before anything is said about it: a built-in kind has all that Go's type of it
/// has when nothing is set.
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
        // Nothing is of a wrong type where there is nothing.
        let read = typed::read(table, id, &mut empty, &mut Vec::new());
        read.expect("an empty map is an object of every kind");
    }
    Value::Object(empty)
}

/// What of a set can be owned where a part of objects is written, or the whole of them.
pub(super) fn ownable(
    resource: &Resource,
    api_version: &str,
    subresource: Option<Subresource>,
    fields: Set,
) -> Set {
    let (group, plural) = (&*resource.group, &*resource.plural);
    let version = resource.version_of(api_version);
    let status = version.map(|version| resource.strategy.status(version));
    match (subresource, status) {
        (Some(Subresource::Status), _) if resource.origin != Origin::BuiltIn => {
            fields.only("status")
        }
        (None, Some(StatusField::Part) | None) => fields,
        (_, _) => {
            let subresource = subresource.map_or("", Subresource::name);
            fields.without(&Set::of_fields(parts::put_back(group, plural, subresource)))
        }
    }
}
