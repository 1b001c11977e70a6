//! Migration from client-side `kubectl apply`, which recorded its configuration in an annotation.

use lockstep_object::json;
use lockstep_object::metadata::ANNOTATIONS_BYTES_MAX;
use serde_json::{Map, Value};

use super::{Applied, Conflicts};
use crate::fields::Set;
use crate::typed::Duplicates;
use crate::types::Type;

/// Annotation with the last configuration of client-side apply.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Field manager that may take over the fields named in the annotation.
pub(super) const KUBECTL: &str = "kubectl";

/// Conflicts left after dropping those on fields whose live value is the one client-side apply last set.
pub(super) fn remaining(
    of_version: Type<'_>,
    live: &Value,
    conflicts: Conflicts,
    api_version: &str,
) -> Option<Conflicts> {
    let Some(allowed) = wanted_before(of_version, live, api_version) else {
        return Some(conflicts);
    };
    conflicts.except(&allowed)
}

/// Fields whose live value equals the one in the annotation.
fn wanted_before(of_version: Type<'_>, live: &Value, api_version: &str) -> Option<Set> {
    let last = json::decode(annotation(live)?.as_bytes()).ok()?.value;
    if last.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    of_version.validate(live, Duplicates::Refused).ok()?;
    of_version.validate(&last, Duplicates::Refused).ok()?;
    let comparison = of_version.compare(&last, live).ok()?;
    let fields = of_version.owned(&last).ok()?;
    let fields = fields.difference(&comparison.changed());
    Some(fields.difference(&comparison.removed))
}

fn annotation(object: &Value) -> Option<&str> {
    let annotations = object.get("metadata")?.get("annotations")?;
    let text = annotations.get(LAST_APPLIED)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// Updates the annotation to the applied configuration, if the object has one.
pub(super) fn renew(applied: &mut Applied, live: &Value, wanted: &Value) {
    let object = applied.object.as_ref().unwrap_or(live);
    let Some(present) = annotation(object) else {
        return;
    };
    let mut wanted = wanted.clone();
    if let Some(annotations) = annotations_of(&mut wanted) {
        annotations.remove(LAST_APPLIED);
    }
    let text = json::encode_to_string(&wanted) + "\n";
    if text == present {
        return;
    }
    let mut object = object.clone();
    if let Some(annotations) = annotations_of(&mut object) {
        annotations.insert(LAST_APPLIED.to_owned(), text.into());
        if size(annotations) > ANNOTATIONS_BYTES_MAX {
            annotations.remove(LAST_APPLIED);
        }
    }
    applied.object = Some(object);
}

fn annotations_of(object: &mut Value) -> Option<&mut Map<String, Value>> {
    object
        .get_mut("metadata")?
        .get_mut("annotations")?
        .as_object_mut()
}

fn size(annotations: &Map<String, Value>) -> usize {
    let sizes = annotations.iter();
    sizes
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum()
}
