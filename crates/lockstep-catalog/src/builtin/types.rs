//! The fields of built-in kinds, which the table of kinds knows.

use std::sync::LazyLock;

use lockstep_kinds::typed::{self, TypeError};
use lockstep_kinds::{Table, TypeId};
use lockstep_merge::types::{BuiltInTypes, Type};
use lockstep_object::Object;

/// The type of a kind of a group in a version.
pub(super) fn type_of(group: &str, version: &str, kind: &str) -> TypeId {
    let found = Table::builtin().kind(group, version, kind);
    found.expect("every kind of the server is in the table of kinds")
}

/// What objects of a kind are made of, as far as merging them is concerned.
pub(super) fn merge_type(kind: TypeId) -> Option<Type<'static>> {
    static TYPES: LazyLock<BuiltInTypes> = LazyLock::new(|| BuiltInTypes::of(Table::builtin()));
    TYPES.get(kind)
}

/// Brings an object into the form that its Go type has: refuses the first field of another type,
/// drops fields that are not known or mean nothing, adds those that are always there.
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
