//! What is wrong with a CRD.

use lockstep_cel::Version;
use lockstep_fieldgate::{check_gates, gate_warnings};
use lockstep_object::Object;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_schema::{check_definition, unrecognized_formats};

use super::Definition;
use super::definition::DefinedVersion;

/// Everything that is wrong, besides the metadata. New expressions may use what a version has.
pub(crate) fn validate(crd: &Object, old: Option<&Object>, version: Version) -> FieldErrors {
    let mut errors = check_definition(crd, old, version);
    errors.extend(check_bundle_kept(crd, old));
    errors.extend(check_gates(crd, old));
    errors
}

/// A webhook that was called, or could be, keeps certificates that can be used. Who has none of
/// those yet may go without: it is not served before.
fn check_bundle_kept(crd: &Object, old: Option<&Object>) -> Option<FieldError> {
    let old = Definition::of(old?);
    if !old.is("Established") || old.bundle_problem().is_some() {
        return None;
    }
    let definition = Definition::of(crd);
    let problem = definition.bundle_problem()?;
    let spec = Path::ROOT.field("spec");
    let conversion = spec.field("conversion");
    let config = conversion.field("webhookClientConfig");
    let bundle = definition.bundle().unwrap_or_default();
    Some(FieldError::invalid(
        &config.field("caBundle"),
        bundle,
        problem,
    ))
}

/// What validates nothing although it looks so, and what gates no longer do.
pub(crate) fn warnings(crd: &Object, old: Option<&Object>, version: Version) -> Vec<String> {
    let schemas = Definition::of(crd)
        .versions()
        .filter_map(DefinedVersion::schema);
    let mut warnings: Vec<String> = schemas
        .flat_map(|schema| unrecognized_formats(schema, version))
        .collect();
    warnings.extend(gate_warnings(crd, old));
    warnings
}
