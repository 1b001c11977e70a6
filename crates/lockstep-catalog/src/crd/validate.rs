//! Validation of CRDs.

use lockstep_cel::Version;
use lockstep_fieldgate::{check_gates, gate_warnings};
use lockstep_object::Object;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_schema::{check_definition, unrecognized_formats};

use super::{DefinedVersion, Definition};

/// Validates a CRD except for its metadata. New expressions may use the CEL features of `version`.
pub(crate) fn validate(crd: &Object, old: Option<&Object>, version: Version) -> FieldErrors {
    let mut errors = check_definition(crd, old, version);
    errors.extend(check_bundle_update(crd, old));
    errors.append(check_gates(crd, old));
    errors
}

/// An established CRD with a usable CA bundle cannot change to an unusable one. A CRD that is not established may have
/// any bundle, since it is not served.
fn check_bundle_update(crd: &Object, old: Option<&Object>) -> Option<FieldError> {
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

/// Warnings about formats that are not validated, and about field gates without effect.
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
