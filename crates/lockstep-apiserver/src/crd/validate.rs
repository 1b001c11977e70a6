//! What is wrong with a CRD.

use lockstep_cel::Version;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{Object, Value};
use lockstep_schema::check_definition;

/// Everything that is wrong, besides the metadata.
pub(crate) fn validate(crd: &Object, old: Option<&Object>) -> FieldErrors {
    let mut errors = check_definition(crd, old, Version::LATEST);
    errors.extend(check_conversion(crd));
    errors
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
