//! String and number formats that are validated; unknown formats are ignored, with a warning when the schema is
//! written.

mod codes;
mod mail;
mod network;

use crate::node::Type;
use lockstep_cel::Version;
use lockstep_gotext::duration::Duration;
use lockstep_gotext::formats::NamedFormat;
use lockstep_object::names;

/// A format that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Int32,
    Int64,
    Float,
    Double,
    /// A text, by the row of [`TEXTS`].
    Text(u8),
}

/// The minor version of Kubernetes 1 that brought a format.
type Since = u16;

/// A format of texts.
type Row = (&'static str, Since, fn(&str) -> bool);

/// Every format of texts: its name without dashes, since when, and its check.
const TEXTS: &[Row] = &[
    ("bsonobjectid", 0, codes::is_bson_object_id),
    ("uri", 0, |text| NamedFormat::Uri.validate(text).is_empty()),
    ("email", 0, mail::is_address),
    ("hostname", 0, network::is_hostname),
    ("ipv4", 0, network::is_ipv4),
    ("ipv6", 0, network::is_ipv6),
    ("cidr", 0, network::is_cidr),
    ("mac", 0, network::is_mac),
    ("uuid", 0, |text| {
        NamedFormat::Uuid.validate(text).is_empty()
    }),
    ("uuid3", 0, codes::is_uuid3),
    ("uuid4", 0, codes::is_uuid4),
    ("uuid5", 0, codes::is_uuid5),
    ("isbn", 0, |text| {
        codes::is_isbn10(text) || codes::is_isbn13(text)
    }),
    ("isbn10", 0, codes::is_isbn10),
    ("isbn13", 0, codes::is_isbn13),
    ("creditcard", 0, codes::is_credit_card),
    ("ssn", 0, codes::is_ssn),
    ("hexcolor", 0, codes::is_hex_color),
    ("rgbcolor", 0, codes::is_rgb_color),
    ("byte", 0, |text| {
        NamedFormat::Byte.validate(text).is_empty()
    }),
    ("password", 0, |_| true),
    ("date", 0, |text| {
        NamedFormat::Date.validate(text).is_empty()
    }),
    ("duration", 0, is_duration),
    ("datetime", 0, |text| {
        NamedFormat::DateTime.validate(text).is_empty()
    }),
    ("k8sshortname", 34, |text| {
        names::dns1123_label(text).is_empty()
    }),
    ("k8slongname", 34, |text| {
        names::dns1123_subdomain(text).is_empty()
    }),
];

impl Format {
    /// The format of this name for values of this type; none when it is not judged.
    pub(crate) fn of(name: &str, ty: Type, version: Version) -> Option<Self> {
        match (ty, name) {
            (_, "") => None,
            (Type::Integer, "int32") => Some(Self::Int32),
            (Type::Integer, "int64") => Some(Self::Int64),
            (Type::Number, "float") => Some(Self::Float),
            (Type::Number, "double") => Some(Self::Double),
            (Type::Any | Type::String | Type::IntOrString, name) => {
                let normalised = name.replace('-', "");
                let known = |row: &Row| row.0 == normalised && version >= Version::new(1, row.1);
                let row = TEXTS.iter().position(known)?;
                u8::try_from(row).ok().map(Self::Text)
            }
            _ => None,
        }
    }

    /// The format in messages; texts keep the spelling of the schema.
    pub(crate) fn name(self, spelling: &str) -> &str {
        match self {
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Float => "float",
            Self::Double => "double",
            Self::Text(_) => spelling,
        }
    }

    /// True if a text matches the format. Number formats accept every text.
    pub(crate) fn accepts(self, text: &str) -> bool {
        match self {
            Self::Text(row) => TEXTS[usize::from(row)].2(text),
            Self::Int32 | Self::Int64 | Self::Float | Self::Double => true,
        }
    }
}

/// Go durations, or Scala-style durations such as `5 days`.
fn is_duration(text: &str) -> bool {
    Duration::parse(text).is_ok() || has_worded_duration(text)
}

const UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// True if a number with a unit occurs anywhere. Units match by prefix, so that `minutes` is accepted.
fn has_worded_duration(text: &str) -> bool {
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let digits = &rest[start..];
        let after = digits.trim_start_matches(|character: char| character.is_ascii_digit());
        let number = &digits[..digits.len() - after.len()];
        let word = after.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        let end = word.find(|character: char| !character.is_ascii_alphabetic() && character != 'µ');
        let unit = word[..end.unwrap_or(word.len())].to_lowercase();
        if !unit.is_empty() {
            if number.parse::<i64>().is_err() {
                return false;
            }
            found |= UNITS.iter().any(|spellings| is_unit(&unit, spellings));
        }
        rest = if unit.is_empty() {
            after
        } else {
            &word[end.unwrap_or(word.len())..]
        };
    }
    found
}

fn is_unit(unit: &str, spellings: &[&str]) -> bool {
    let is_prefix = spellings.last().is_some_and(|last| unit.starts_with(last));
    is_prefix || spellings.contains(&unit)
}
