//! `"…".format([…])`: parsing of format strings and formatting of values.

use crate::dialect::Profile;
use crate::scope::Scope;
use crate::value::{Eval, Map, Value};
use lockstep_gotext::number_text::{self, HexCase, Integer, NumberStyle};
use lockstep_gotext::text::quote;
use std::fmt::{self, Write as _};

const PRECISION_DEFAULT: usize = 6;
/// Writing a value takes many times as long as copying it.
const WORK_PER_BYTE: usize = 16;
/// Room for the text of an argument before it is known, and for how many of them.
const ROOM_PER_ARGUMENT: usize = 16;
const ROOM_MAX: usize = 64;
/// Deepest value that is written.
const DEPTH_MAX: u16 = 200;

/// A part of a format text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece<'t> {
    Text(&'t str),
    Clause(Clause),
}

/// `%.2f`: how to write one argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Clause {
    verb: char,
    precision: Option<usize>,
}

/// Errors of parsing a format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FormatFault {
    End,
    Verb(String),
    Precision,
}

impl FormatFault {
    /// True if a missing argument takes precedence over this error.
    pub(crate) fn needs_argument(&self) -> bool {
        *self != Self::End
    }
}

impl fmt::Display for FormatFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("unexpected end of string"),
            Self::Verb(verb) => {
                write!(f, "could not parse formatting clause: unrecognized formatting clause \"{verb}\"")
            }
            Self::Precision => {
                f.write_str("could not parse formatting clause: error while parsing precision: precision too large")
            }
        }
    }
}

/// The pieces of a format text; after a fault nothing follows.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = Result<Piece<'_>, FormatFault>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(percent) = rest.find('%') else {
            return Some(Ok(Piece::Text(std::mem::take(&mut rest))));
        };
        if percent > 0 {
            let (before, after) = rest.split_at(percent);
            rest = after;
            return Some(Ok(Piece::Text(before)));
        }
        if let Some(after) = rest.strip_prefix("%%") {
            rest = after;
            return Some(Ok(Piece::Text("%")));
        }
        match clause(&rest[1..]) {
            Ok((clause, after)) => {
                rest = after;
                Some(Ok(Piece::Clause(clause)))
            }
            Err(fault) => {
                rest = "";
                Some(Err(fault))
            }
        }
    })
}

fn clause(text: &str) -> Result<(Clause, &str), FormatFault> {
    let (precision, rest) = match text.strip_prefix('.') {
        None => (None, text),
        Some(after) => {
            let end = after
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(after.len());
            let precision: usize = after[..end].parse().map_err(|_| FormatFault::Precision)?;
            if precision > number_text::PRECISION_MAX {
                return Err(FormatFault::Precision);
            }
            (Some(precision), &after[end..])
        }
    };
    let mut letters = rest.chars();
    let verb = letters.next().ok_or(FormatFault::End)?;
    if !"sdfebxXo".contains(verb) {
        return Err(FormatFault::Verb(verb.to_string()));
    }
    Ok((Clause { verb, precision }, letters.as_str()))
}

/// Kubernetes' error message for a verb with an unsupported type; none if it is supported.
pub(crate) fn refusal(clause: Clause, type_name: &str) -> Option<String> {
    let (accepted, text): (&[&str], &str) = match clause.verb {
        'd' => (
            &["int", "uint"],
            "decimal clause can only be used on integers",
        ),
        'f' => (
            &["double"],
            "fixed-point clause can only be used on doubles",
        ),
        'e' => (&["double"], "scientific clause can only be used on doubles"),
        'b' => (
            &["int", "uint", "bool"],
            "only integers and bools can be formatted as binary",
        ),
        'x' | 'X' => (
            &["int", "uint", "string", "bytes"],
            "only integers, byte buffers, and strings can be formatted as hex",
        ),
        'o' => (
            &["int", "uint"],
            "octal clause can only be used on integers",
        ),
        _ => (
            &[
                "string",
                "bool",
                "bytes",
                "int",
                "uint",
                "double",
                "map",
                "list",
                "type",
                "null_type",
                "google.protobuf.Duration",
                "google.protobuf.Timestamp",
            ],
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, \
             and timestamps",
        ),
    };
    (!accepted.contains(&type_name)).then(|| format!("{text}, was given {type_name}"))
}

/// The function `format`.
pub(super) fn format<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (text, list) = (args[0].as_text()?, args[1].as_list()?);
    let writer = Writer {
        profile: scope.profile,
    };
    let mut out = String::with_capacity(text.len() + ROOM_PER_ARGUMENT * list.len().min(ROOM_MAX));
    let mut next = 0;
    for piece in pieces(text) {
        match piece {
            Ok(Piece::Text(text)) => out.push_str(text),
            Err(fault) if !fault.needs_argument() => return Err(scope.fault(fault)),
            _ if next >= list.len() => {
                return Err(scope.fault(format_args!("index {next} out of range")));
            }
            Err(fault) => return Err(scope.fault(fault)),
            Ok(Piece::Clause(clause)) => {
                writer
                    .write(&mut out, clause, &list.at(next)?)
                    .map_err(|text| scope.fault(format_args!("error during formatting: {text}")))?;
                scope.arena.room(out.len())?;
                scope.work(out.len().saturating_mul(WORK_PER_BYTE))?;
                next += 1;
            }
        }
    }
    // The Kubernetes dialect counts arguments when it checks a literal list, and not again when it runs.
    if scope.profile == Profile::Spec && next < list.len() {
        let given = list.len();
        let text = format_args!(
            "too many arguments supplied to string.format (expected {next}, got {given})"
        );
        return Err(scope.fault(text));
    }
    scope.text(&out)
}

/// Writes values in the manner of a profile.
struct Writer {
    profile: Profile,
}

impl Writer {
    fn style(&self) -> NumberStyle {
        match self.profile {
            Profile::Spec => NumberStyle::Spec,
            Profile::Kubernetes => NumberStyle::Kubernetes,
        }
    }

    /// Appends a value in the format of its clause, without an intermediate string where possible.
    fn write(&self, out: &mut String, clause: Clause, value: &Value<'_>) -> Result<(), String> {
        match (clause.verb, value) {
            ('s', Value::String(text)) => out.push_str(text),
            ('s' | 'd', Value::Int(number)) => {
                write!(out, "{number}").map_err(|error| error.to_string())?;
            }
            _ => out.push_str(&self.clause(clause, value)?),
        }
        Ok(())
    }

    fn clause(&self, clause: Clause, value: &Value<'_>) -> Result<String, String> {
        let refused = || Err(refusal(clause, value.type_name()).unwrap_or_default());
        let precision = clause.precision.unwrap_or(PRECISION_DEFAULT);
        let spec = self.profile == Profile::Spec;
        match (clause.verb, value) {
            ('s', Value::Optional(_) | Value::Object(_) | Value::Opaque(_)) => refused(),
            ('s', _) => self.text(value),
            ('d', Value::Double(double)) if spec && !double.is_finite() => Ok(special(*double)),
            ('f' | 'e', Value::Double(_) | Value::Int(_) | Value::Uint(_)) => {
                let Some(double) = self.as_double(value) else {
                    return refused();
                };
                let written = if clause.verb == 'f' {
                    number_text::fixed(double, precision, self.style())
                } else {
                    number_text::scientific(double, precision, self.style())
                };
                written.map_err(|error| error.to_string())
            }
            ('b', Value::Bool(value)) => Ok(u8::from(*value).to_string()),
            ('x', Value::String(text)) => {
                Ok(number_text::hex_bytes(text.as_bytes(), HexCase::Lower))
            }
            ('X', Value::String(text)) => {
                Ok(number_text::hex_bytes(text.as_bytes(), HexCase::Upper))
            }
            ('x', Value::Bytes(bytes)) => Ok(number_text::hex_bytes(bytes, HexCase::Lower)),
            ('X', Value::Bytes(bytes)) => Ok(number_text::hex_bytes(bytes, HexCase::Upper)),
            (verb, Value::Int(value)) => Ok(integer(verb, Integer::Signed(*value))),
            (verb, Value::Uint(value)) => Ok(integer(verb, Integer::Unsigned(*value))),
            _ => refused(),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "written with a limited number of digits anyway"
    )]
    fn as_double(&self, value: &Value<'_>) -> Option<f64> {
        match value {
            Value::Double(value) => Some(*value),
            Value::Int(value) if self.profile == Profile::Spec => Some(*value as f64),
            Value::Uint(value) if self.profile == Profile::Spec => Some(*value as f64),
            _ => None,
        }
    }

    /// `%s`
    fn text(&self, value: &Value<'_>) -> Result<String, String> {
        Ok(match value {
            Value::String(text) => (*text).to_owned(),
            Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Value::Double(double) if self.profile == Profile::Spec && !double.is_finite() => {
                special(*double)
            }
            Value::Double(double) => number_text::double_text(*double),
            Value::Timestamp(at) => at.to_string(),
            Value::Duration(span) => span.to_string(),
            Value::Type(name) => (*name).to_owned(),
            other => self.nested(other, DEPTH_MAX)?,
        })
    }

    /// A value inside a list or map: Kubernetes writes it as a literal would be written.
    fn nested(&self, value: &Value<'_>, depth: u16) -> Result<String, String> {
        let depth = depth.checked_sub(1).ok_or("value is nested too deeply")?;
        let literal = self.profile == Profile::Kubernetes;
        Ok(match value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Uint(value) => value.to_string(),
            Value::Double(double) if literal && !double.is_finite() => {
                quote(&number_text::double_text(*double))
            }
            Value::Double(double) if literal => {
                // Thousands are grouped by `%f` alone, not inside a list or map.
                number_text::fixed(*double, PRECISION_DEFAULT, NumberStyle::Spec)
                    .map_err(|error| error.to_string())?
            }
            Value::String(text) if literal => quote(text),
            Value::Bytes(bytes) if literal => {
                format!("b{}", quote(&String::from_utf8_lossy(bytes)))
            }
            Value::Timestamp(at) if literal => {
                format!("timestamp({})", quote(&at.to_string()))
            }
            Value::Duration(span) if literal => {
                format!("duration({})", quote(&span.to_string()))
            }
            Value::Type(name) if literal => format!("type({name})"),
            Value::List(list) => {
                let parts: Result<Vec<_>, _> = list
                    .values()
                    .map(|part| {
                        part.map_err(|fault| fault.to_string())
                            .and_then(|part| self.nested(&part, depth))
                    })
                    .collect();
                format!("[{}]", parts?.join(", "))
            }
            Value::Map(map) => self.map(*map, depth)?,
            Value::Optional(_) | Value::Object(_) | Value::Opaque(_) => {
                let clause = Clause {
                    verb: 's',
                    precision: None,
                };
                return Err(refusal(clause, value.type_name()).unwrap_or_default());
            }
            other => self.text(other)?,
        })
    }

    /// Kubernetes writes the keys a map of the specification may have.
    fn key(&self, key: &Value<'_>, depth: u16) -> Result<String, String> {
        let usual = matches!(
            key,
            Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_)
        );
        if !usual && self.profile == Profile::Kubernetes {
            let name = key.type_name();
            return Err(format!("no formatting function for map key of type {name}"));
        }
        self.nested(key, depth)
    }

    /// Entries sorted by the text of their keys.
    fn map(&self, map: Map<'_>, depth: u16) -> Result<String, String> {
        let separator = if self.profile == Profile::Spec {
            ": "
        } else {
            ":"
        };
        let mut entries = Vec::new();
        for (key, value) in map.entries() {
            let value = value.map_err(|fault| fault.to_string())?;
            entries.push((self.key(&key, depth)?, self.nested(&value, depth)?));
        }
        entries.sort();
        let entries: Vec<String> = entries
            .into_iter()
            .map(|(key, value)| format!("{key}{separator}{value}"))
            .collect();
        Ok(format!("{{{}}}", entries.join(", ")))
    }
}

fn special(double: f64) -> String {
    match double {
        double if double.is_nan() => "NaN".to_owned(),
        double if double > 0.0 => "Infinity".to_owned(),
        _ => "-Infinity".to_owned(),
    }
}

fn integer(verb: char, integer: Integer) -> String {
    match verb {
        'b' => integer.binary(),
        'o' => integer.octal(),
        'x' => integer.hex(HexCase::Lower),
        'X' => integer.hex(HexCase::Upper),
        _ => integer.decimal(),
    }
}
