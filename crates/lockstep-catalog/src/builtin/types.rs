//! Types of built-in kinds, from the table of kinds.

use std::sync::LazyLock;

use lockstep_kinds::typed::{self, TypeError};
use lockstep_kinds::{Table, TypeId};
use lockstep_merge::types::{BuiltInTypes, Type};
use lockstep_object::Object;

/// The type of a kind.
pub(super) fn type_of(group: &str, version: &str, kind: &str) -> TypeId {
    let found = Table::builtin().kind(group, version, kind);
    found.expect("every kind of the server is in the table of kinds")
}

/// The merge type of a kind, for server-side apply.
pub(super) fn merge_type(kind: TypeId) -> Option<Type<'static>> {
    static TYPES: LazyLock<BuiltInTypes> = LazyLock::new(|| BuiltInTypes::of(Table::builtin()));
    TYPES.get(kind)
}

/// The merge type of the body of a subresource with a kind of its own.
pub fn merge_type_of(group: &str, version: &str, kind: &str) -> Option<Type<'static>> {
    merge_type(Table::builtin().kind(group, version, kind)?)
}

/// Converts an object to the JSON that its Go type would encode: rejects the first field of a wrong type, removes unknown
/// and empty fields, and adds fields that Go always encodes.
pub(super) fn check(
    kind: TypeId,
    object: &mut Object,
    unknown: &mut Vec<String>,
) -> Result<(), TypeError> {
    typed::read(Table::builtin(), kind, object.fields_mut(), unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_server_has_a_type() {
        for resource in
            super::super::resources(lockstep_cel::Version::LATEST, &super::super::Apis::all())
        {
            for version in resource.versions.iter() {
                let id = type_of(&resource.group, &version.name, &resource.kind);
                assert_eq!(Table::builtin().get(id).name, &*resource.kind);
            }
        }
    }
}
