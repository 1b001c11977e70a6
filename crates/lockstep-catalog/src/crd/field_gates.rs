//! Field gates of CRDs: `spec.customFeatureGates` and its status.

use lockstep_fieldgate::{GateList, check_gates, status};
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

use super::conditions;

/// The condition type that reports whether all field gates are valid.
const VALID: &str = "FieldGatesValid";

/// Whether field gates have an effect: the feature gate `CRDFieldLevelVersioning`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FieldGates {
    /// Field gates have an effect.
    On,
    /// Field gates are ignored.
    #[default]
    Off,
}

impl FieldGates {
    /// `On` if the feature gate is enabled.
    pub fn when(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }
}

/// The result of [`keep_gates`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kept {
    /// The field gates are those of the request or of the stored CRD.
    AsTheyAre,
    /// The field gates of the request were removed.
    Dropped,
}

/// Restricts the field gates of a CRD that is written. While the feature gate is off, a CRD keeps field gates only if
/// the stored one has some. Protobuf has no such field, so a CRD sent as protobuf keeps the stored field gates.
pub fn keep_gates(
    crd: &mut Object,
    old: Option<&Object>,
    gates: FieldGates,
    is_message: bool,
) -> Kept {
    const FIELD: &str = "customFeatureGates";
    let stored = old.and_then(|old| old.at(&["spec", FIELD]));
    let Some(Value::Object(spec)) = crd.fields_mut().get_mut("spec") else {
        return Kept::AsTheyAre;
    };
    if is_message && let Some(stored) = stored {
        spec.insert(FIELD.to_owned(), stored.clone());
    } else if gates == FieldGates::Off
        && stored.is_none()
        && spec.remove(FIELD).is_some_and(|gates| !gates.is_null())
    {
        return Kept::Dropped;
    }
    Kept::AsTheyAre
}

/// Writes the state of the field gates and the condition `FieldGatesValid` to the status.
pub fn write_status(crd: &mut Object, now: Seconds) {
    let list = GateList::of(crd);
    let errors = check_gates(crd, None);
    let generation = crd.generation();
    let Some(Value::Object(fields)) = crd.fields_mut().get_mut("status") else {
        return;
    };
    let mut known = match fields.remove("conditions") {
        Some(Value::Array(known)) => known,
        _ => Vec::new(),
    };
    if list.gates.is_empty() && errors.is_empty() {
        fields.remove("customFeatureGates");
        known.retain(|condition| condition["type"] != VALID);
    } else {
        fields.insert("customFeatureGates".to_owned(), status(&list));
        fields.insert("observedGeneration".to_owned(), generation.into());
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let message = texts.join(", ");
        let (value, reason, message) = match &*message {
            "" => (
                "True",
                "Valid",
                "all field gates refer to fields of the schema",
            ),
            message => ("False", "Invalid", message),
        };
        conditions::set(&mut known, VALID, value, reason, message, now);
        let own = known
            .iter_mut()
            .find(|condition| condition["type"] == VALID);
        if let Some(own) = own {
            own["observedGeneration"] = json!(generation);
        }
    }
    fields.insert("conditions".to_owned(), known.into());
}
