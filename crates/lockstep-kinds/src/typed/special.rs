//! Scalars with custom encodings: times, quantities, `IntOrString`, bytes.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use lockstep_gotext::quantity::Quantity;
use lockstep_object::Value;

use super::error::TypeError;
use super::place::Place;
use super::time;
use crate::table::Special;

/// Base64 as Go reads it: padded, and not fussy about bits that fall off the end.
pub(crate) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// Errors of decoding a scalar.
pub(super) enum Wrong {
    /// It is of another type than this one.
    Type(Value, &'static str),
    /// It is of the right type and cannot be read.
    Text(TypeError),
}

impl Wrong {
    pub(super) fn at(self, place: &Place<'_>) -> TypeError {
        match self {
            Self::Type(value, wanted) => TypeError::mismatch(&value, place, wanted.to_owned()),
            Self::Text(error) => error,
        }
    }
}

/// Brings a scalar with its own form into that form.
pub(super) fn scalar(special: Special, value: &mut Value) -> Result<(), Wrong> {
    match (special, &mut *value) {
        (Special::Time, Value::String(text)) => {
            *text = time::seconds(text).map_err(Wrong::Text)?;
            Ok(())
        }
        (Special::MicroTime, Value::String(text)) => {
            *text = time::micros(text).map_err(Wrong::Text)?;
            Ok(())
        }
        (Special::Time | Special::MicroTime, _) => Err(Wrong::Type(value.clone(), "string")),
        (Special::Quantity, _) => {
            let text = match &*value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            *value = quantity(&text).map_err(Wrong::Text)?.into();
            Ok(())
        }
        (_, Value::String(_)) => Ok(()),
        (_, Value::Number(number)) if number.as_i64().is_some_and(|n| i32::try_from(n).is_ok()) => {
            Ok(())
        }
        _ => Err(Wrong::Type(value.clone(), "int32")),
    }
}

/// An amount in its canonical form.
pub(crate) fn quantity(text: &str) -> Result<String, TypeError> {
    Ok(Quantity::parse(text.trim())?.to_string())
}

/// Bytes in the form in which they are printed.
pub(super) fn base64(text: &str) -> Result<String, TypeError> {
    if text.is_empty() {
        return Ok(String::new());
    }
    let bytes = decode_base64(text)?;
    Ok(BASE64.encode(bytes))
}

/// Decodes base64, ignoring line breaks as Go does.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, TypeError> {
    use base64::DecodeError::{InvalidByte, InvalidLastSymbol, InvalidLength, InvalidPadding};
    let joined: String;
    let text = if text.contains(['\r', '\n']) {
        joined = text.replace(['\r', '\n'], "");
        &joined
    } else {
        text
    };
    BASE64.decode(text).map_err(|error| {
        TypeError::Base64(match error {
            InvalidByte(at, _) | InvalidLength(at) | InvalidLastSymbol { offset: at, .. } => at,
            InvalidPadding => text.len(),
        })
    })
}
