//! The types of the fields that built-in kinds have.

use lockstep_object::metadata::is_type_or_metadata;
use lockstep_object::{Object, Value};

/// The type of a field below the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldType {
    /// A text.
    Text,
    /// Yes or no.
    Flag,
    /// A whole number.
    Integer,
    /// A map of texts.
    TextMap,
    /// A map; what is in it is checked elsewhere.
    Map,
    /// A list of maps.
    Maps,
}

impl FieldType {
    /// What is in the place of something else, and what should be there; none if all is well.
    fn mismatch(self, value: &Value) -> Option<(&'static str, &'static str)> {
        let is_right = match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Integer => value.is_i64(),
            Self::Map => value.is_object(),
            Self::TextMap => {
                let entries = value.as_object()?;
                let wrong = entries
                    .values()
                    .find(|value| !value.is_string() && !value.is_null());
                return wrong.map(|value| (name(value), "string"));
            }
            Self::Maps => {
                let items = value.as_array()?;
                let wrong = items.iter().find(|item| !item.is_object());
                return wrong.map(|value| (name(value), "object"));
            }
        };
        (!is_right).then(|| (name(value), self.name()))
    }

    fn is_of_shape(self, value: &Value) -> bool {
        match self {
            Self::TextMap => value.is_object(),
            Self::Maps => value.is_array(),
            Self::Text | Self::Flag | Self::Integer | Self::Map => true,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Flag => "bool",
            Self::Integer => "int32",
            Self::TextMap => "map[string]string",
            Self::Map => "object",
            Self::Maps => "array",
        }
    }
}

fn name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Refuses the first field of another type; drops fields that are null or not known.
pub(super) fn check(
    kind: &str,
    fields: &[(&str, FieldType)],
    object: &mut Object,
    unknown: &mut Vec<String>,
) -> Result<(), String> {
    let type_of = |name: &str| fields.iter().find(|(known, _)| *known == name);
    for (name, value) in object.fields() {
        let Some((_, field)) = type_of(name).filter(|_| !value.is_null()) else {
            continue;
        };
        let mismatch = if field.is_of_shape(value) {
            field.mismatch(value)
        } else {
            Some((self::name(value), field.name()))
        };
        if let Some((found, wanted)) = mismatch {
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {kind}.{name} of type {wanted}"
            ));
        }
    }
    object.fields_mut().retain(|name, value| {
        let is_known = is_type_or_metadata(name) || type_of(name).is_some();
        if !is_known {
            unknown.push(name.clone());
        }
        is_known && (!value.is_null() || is_type_or_metadata(name))
    });
    Ok(())
}
