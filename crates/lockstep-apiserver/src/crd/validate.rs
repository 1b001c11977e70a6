//! What is wrong with a CRD.

use lockstep_cel::Version;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{Object, Value};
use lockstep_schema::{check_definition, unrecognized_formats};

use super::Definition;
use super::definition::DefinedVersion;

/// Everything that is wrong, besides the metadata. New expressions may use what a version has.
pub(crate) fn validate(crd: &Object, old: Option<&Object>, version: Version) -> FieldErrors {
    let mut errors = check_definition(crd, old, version);
    errors.extend(check_conversion(crd));
    errors
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

/// Objects are not converted by webhooks here, so a CRD that asks for it is refused.
fn check_conversion(crd: &Object) -> Option<FieldError> {
    let strategy = crd.at(&["spec", "conversion", "strategy"]);
    let is_webhook = strategy.and_then(Value::as_str) == Some("Webhook");
    let spec = Path::ROOT.field("spec");
    let conversion = spec.field("conversion");
    let path = conversion.field("strategy");
    is_webhook.then(|| FieldError::not_supported(&path, "Webhook", ["None"]))
}
