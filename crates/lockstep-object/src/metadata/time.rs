//! Timestamps on the wire: `Time` with seconds in metadata, `MicroTime` in leases and events.

use jiff::Timestamp;
use std::fmt;
use std::str::FromStr;

/// The text is not an RFC 3339 timestamp.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("parsing time {} as \"2006-01-02T15:04:05Z07:00\": cannot parse it", crate::go::quote(.0))]
pub struct TimeError(String);

/// A time as metadata writes it: `2026-11-16T02:11:06Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seconds(Timestamp);

/// A time as leases and events write it: `2026-11-16T02:11:06.000000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(Timestamp);

impl Seconds {
    /// Seconds since 1970; none outside the years that can be written.
    pub fn from_unix(seconds: i64) -> Option<Self> {
        Timestamp::from_second(seconds).ok().map(Self)
    }

    /// Seconds since 1970.
    pub fn unix(self) -> i64 {
        self.0.as_second()
    }
}

impl Micros {
    /// Microseconds since 1970; none outside the years that can be written.
    pub fn from_unix(microseconds: i64) -> Option<Self> {
        Timestamp::from_microsecond(microseconds).ok().map(Self)
    }

    /// Microseconds since 1970.
    pub fn unix(self) -> i64 {
        self.0.as_microsecond()
    }
}

impl FromStr for Seconds {
    type Err = TimeError;

    /// Reads RFC 3339 in any zone; fractions of a second are dropped.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let at = parse(text)?;
        let whole = at.as_second() - i64::from(at.subsec_nanosecond() < 0);
        Self::from_unix(whole).ok_or_else(|| TimeError(text.to_owned()))
    }
}

impl FromStr for Micros {
    type Err = TimeError;

    fn from_str(text: &str) -> Result<Self, TimeError> {
        parse(text).map(Self)
    }
}

/// RFC 3339 and nothing that is merely close to it: jiff also reads spaces, lower case and missing zones' brackets.
fn parse(text: &str) -> Result<Timestamp, TimeError> {
    let error = || TimeError(text.to_owned());
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        let part = bytes.get(range);
        part.is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let shaped = [0..4, 5..7, 8..10, 11..13, 14..16, 17..19]
        .into_iter()
        .all(digits)
        && separators
            .iter()
            .all(|(at, separator)| bytes.get(*at) == Some(separator));
    if !shaped {
        return Err(error());
    }
    let mut zone = &text[19..];
    if let Some(fraction) = zone.strip_prefix('.') {
        let rest = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
        if rest.len() == fraction.len() {
            return Err(error());
        }
        zone = rest;
    }
    let offset = zone.as_bytes();
    let is_offset = offset.len() == 6
        && matches!(offset[0], b'+' | b'-')
        && offset[3] == b':'
        && [1, 2, 4, 5].iter().all(|at| offset[*at].is_ascii_digit());
    if zone != "Z" && !is_offset {
        return Err(error());
    }
    text.parse().map_err(|_| error())
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m-%dT%H:%M:%SZ"))
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.strftime("%Y-%m-%dT%H:%M:%S.%6fZ"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// dependencies.md §3, clocks
    #[test]
    fn metadata_has_seconds_and_leases_have_microseconds() {
        let at: Seconds = "2024-02-29T12:00:01.987+02:00".parse().unwrap();
        assert_eq!(at.to_string(), "2024-02-29T10:00:01Z");
        let at: Micros = "2024-02-29T12:00:01.9876543Z".parse().unwrap();
        assert_eq!(at.to_string(), "2024-02-29T12:00:01.987654Z");
        assert_eq!(
            Seconds::from_unix(0).unwrap().to_string(),
            "1970-01-01T00:00:00Z"
        );
        assert_eq!(
            Micros::from_unix(1_500_000).unwrap().to_string(),
            "1970-01-01T00:00:01.500000Z"
        );
        let before: Seconds = "1969-12-31T23:59:59.5Z".parse().unwrap();
        assert_eq!(before.unix(), -1);
    }

    #[test]
    fn only_rfc_3339_is_a_time() {
        for text in [
            "",
            "2024-01-01",
            "2024-01-01 00:00:00Z",
            "2024-01-01T00:00:00",
            "2024-13-01T00:00:00Z",
            "2024-01-01t00:00:00z",
            "2024-01-01T00:00:00.Z",
            "2024-01-01T00:00:00Z[UTC]",
            "2024-01-01T00:00:00+0200",
        ] {
            assert_eq!(
                text.parse::<Seconds>(),
                Err(TimeError(text.to_owned())),
                "{text}"
            );
        }
    }
}
