//! What is wrong with a CRD.

use lockstep_cel::Version;
use lockstep_object::Object;
use lockstep_object::field::FieldErrors;
use lockstep_schema::{check_definition, unrecognized_formats};

use super::Definition;
use super::definition::DefinedVersion;

/// Everything that is wrong, besides the metadata. New expressions may use what a version has.
pub(crate) fn validate(crd: &Object, old: Option<&Object>, version: Version) -> FieldErrors {
    check_definition(crd, old, version)
}

/// What validates nothing although it looks so.
pub(crate) fn warnings(crd: &Object, version: Version) -> Vec<String> {
    let schemas = Definition::of(crd)
        .versions()
        .filter_map(DefinedVersion::schema);
    schemas
        .flat_map(|schema| unrecognized_formats(schema, version))
        .collect()
}
