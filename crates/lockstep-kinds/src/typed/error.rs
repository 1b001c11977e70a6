//! Type errors of typed decoding.

use lockstep_gotext::quantity::QuantityError;
use lockstep_object::Value;

use super::place::Place;

/// Errors of decoding an object as its kind, with the messages of Go's decoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeError {
    /// A value of another type than the field's, or a number outside its range.
    #[error("json: cannot unmarshal {found} into Go struct field {field} of type {wanted}")]
    Mismatch {
        /// The JSON type found; with the digits if a number does not fit a number type.
        found: String,
        /// The struct and the path: `EnvVar.spec.containers.env.value`.
        field: String,
        /// The type as Go prints it.
        wanted: String,
    },
    /// A text that should be base64.
    #[error("illegal base64 data at input byte {0}")]
    Base64(usize),
    /// A text that should be a time.
    #[error("parsing time {0}")]
    Time(String),
    /// A text that should be an amount.
    #[error("{0}")]
    Quantity(#[from] QuantityError),
    /// Neither a boolean nor a schema.
    #[error("boolean or JSON schema expected")]
    NeitherSchemaNorBool,
    /// See [`GROWTH_MAX`](super::GROWTH_MAX).
    #[error(
        "the object has more empty parts than {} fields can be given to",
        super::GROWTH_MAX
    )]
    Growth,
}

impl TypeError {
    pub(super) fn mismatch(value: &Value, place: &Place<'_>, wanted: String) -> Self {
        let is_number = ["int32", "int64", "float64"].contains(&wanted.as_str());
        Self::Mismatch {
            found: match value {
                Value::Null => "null".to_owned(),
                Value::Bool(_) => "bool".to_owned(),
                Value::Number(number) if is_number => format!("number {number}"),
                Value::Number(_) => "number".to_owned(),
                Value::String(_) => "string".to_owned(),
                Value::Array(_) => "array".to_owned(),
                Value::Object(_) => "object".to_owned(),
            },
            field: place.go_field(),
            wanted,
        }
    }
}
