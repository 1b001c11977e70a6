//! What the server does about gates of fields in CRDs.

use lockstep_fieldgate::{GateList, check_gates, status};
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

use super::conditions;

/// The condition that tells whether all gates do what they say.
const VALID: &str = "FieldGatesValid";

/// Whether gates of fields are looked at: the gate `CRDFieldLevelVersioning`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FieldGates {
    /// They are.
    On,
    /// All fields are free.
    #[default]
    Off,
}

impl FieldGates {
    /// On if a gate is.
    pub fn when(enabled: bool) -> Self {
        if enabled { Self::On } else { Self::Off }
    }
}

/// What became of the gates of a CRD that came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kept {
    /// They are as they came, or as they were.
    AsTheyAre,
    /// It has none, though some were asked for.
    Dropped,
}

/// Makes the gates of a CRD that is written what this server lets them be. Where gates are not looked at, a CRD has
/// them only if it had some. Messages cannot say them, so that a CRD that comes as one keeps those it has.
pub(crate) fn keep_gates(
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

/// Writes into the status which gates are open, and whether all of them can do what they say.
pub(super) fn write_status(crd: &mut Object, now: Seconds) {
    let list = GateList::of(crd);
    let errors = check_gates(crd, None);
    let generation = crd.generation();
    let Some(Value::Object(told)) = crd.fields_mut().get_mut("status") else {
        return;
    };
    let mut known = match told.remove("conditions") {
        Some(Value::Array(known)) => known,
        _ => Vec::new(),
    };
    if list.gates.is_empty() && errors.is_empty() {
        told.remove("customFeatureGates");
        known.retain(|condition| condition["type"] != VALID);
    } else {
        told.insert("customFeatureGates".to_owned(), status(&list));
        told.insert("observedGeneration".to_owned(), generation.into());
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
    told.insert("conditions".to_owned(), known.into());
}
