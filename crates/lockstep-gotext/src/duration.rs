//! Go's `time.Duration`: its notation, its parse errors, and arithmetic that reports overflow.

use std::fmt;

use crate::print::quote;

/// A signed span of time in nanoseconds, about 292 years either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    nanoseconds: i64,
}

/// Errors of `time.ParseDuration`, with Go's messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDurationError {
    /// The text is not a duration, or one that 64 bits cannot hold.
    #[error("time: invalid duration {}", quote(.0))]
    Invalid(Box<str>),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quote(.0))]
    MissingUnit(Box<str>),
    /// A unit that Go does not have, such as days.
    #[error("time: unknown unit {} in duration {}", quote(.unit), quote(.text))]
    UnknownUnit {
        /// The unit as written.
        unit: Box<str>,
        /// The whole text.
        text: Box<str>,
    },
}

/// The result of duration arithmetic does not fit 64 bits of nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("integer overflow")]
pub struct DurationOverflow;

/// Position-independent reason of a parse failure, before the whole text is attached.
enum Fault<'t> {
    Invalid,
    MissingUnit,
    UnknownUnit(&'t str),
}

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

impl Duration {
    /// From a count of nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: i64) -> Self {
        Self { nanoseconds }
    }

    /// The count of nanoseconds.
    pub const fn nanoseconds(self) -> i64 {
        self.nanoseconds
    }

    /// Reads `1h15m30.918s`: a sign, then numbers with units `h m s ms us µs ns`. There is no unit for days.
    pub fn parse(text: &str) -> Result<Self, ParseDurationError> {
        parse(text)
            .map(Self::from_nanoseconds)
            .map_err(|fault| match fault {
                Fault::Invalid => ParseDurationError::Invalid(text.into()),
                Fault::MissingUnit => ParseDurationError::MissingUnit(text.into()),
                Fault::UnknownUnit(unit) => ParseDurationError::UnknownUnit {
                    unit: unit.into(),
                    text: text.into(),
                },
            })
    }

    /// Converts to the standard library's type, which has no negative durations.
    pub fn to_std(self) -> Option<std::time::Duration> {
        let nanoseconds = u64::try_from(self.nanoseconds).ok()?;
        Some(std::time::Duration::from_nanos(nanoseconds))
    }

    /// As [`Self::to_std`], but `None` for zero as well: Go's flags and `?timeout=` use zero for "not set".
    pub fn to_std_positive(self) -> Option<std::time::Duration> {
        self.to_std().filter(|duration| !duration.is_zero())
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, DurationOverflow> {
        self.nanoseconds
            .checked_add(other.nanoseconds)
            .map(Self::from_nanoseconds)
            .ok_or(DurationOverflow)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, DurationOverflow> {
        self.nanoseconds
            .checked_sub(other.nanoseconds)
            .map(Self::from_nanoseconds)
            .ok_or(DurationOverflow)
    }

    /// The opposite.
    pub fn negated(self) -> Result<Self, DurationOverflow> {
        Self::default().minus(self)
    }

    /// Whole hours in the span.
    pub const fn hours(self) -> i64 {
        self.nanoseconds / (3600 * NANOSECONDS_PER_SECOND)
    }

    /// Whole minutes in the span, not the part within the hour.
    pub const fn minutes(self) -> i64 {
        self.nanoseconds / (60 * NANOSECONDS_PER_SECOND)
    }

    /// Whole seconds in the span.
    pub const fn seconds(self) -> i64 {
        self.nanoseconds / NANOSECONDS_PER_SECOND
    }

    /// Whole milliseconds in the span.
    pub const fn milliseconds(self) -> i64 {
        self.nanoseconds / 1_000_000
    }
}

impl fmt::Display for Duration {
    /// Seconds as the shortest decimal, as `string(duration)` writes them: `3601.5s`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = self.nanoseconds / NANOSECONDS_PER_SECOND;
        let part = self.nanoseconds % NANOSECONDS_PER_SECOND;
        #[expect(
            clippy::cast_precision_loss,
            reason = "upstream prints the nearest double, digit for digit"
        )]
        let seconds = whole as f64 + part as f64 / 1e9;
        write!(out, "{seconds}s")
    }
}

fn parse(text: &str) -> Result<i64, Fault<'_>> {
    let is_negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Ok(0);
    }
    if unsigned.is_empty() {
        return Err(Fault::Invalid);
    }
    let mut total = 0_u64;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (term, after) = parse_term(rest)?;
        // One more than the largest positive value is the smallest negative one.
        total = total
            .checked_add(term)
            .filter(|&total| total <= 1 << 63)
            .ok_or(Fault::Invalid)?;
        rest = after;
    }
    if is_negative {
        return 0_i64.checked_sub_unsigned(total).ok_or(Fault::Invalid);
    }
    i64::try_from(total).map_err(|_| Fault::Invalid)
}

/// Reads one number with its unit; returns nanoseconds and the rest of the text.
fn parse_term(text: &str) -> Result<(u64, &str), Fault<'_>> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(Fault::Invalid);
    }
    let length = rest.find(|next: char| next == '.' || next.is_ascii_digit());
    let (name, rest) = rest.split_at(length.unwrap_or(rest.len()));
    if name.is_empty() {
        return Err(Fault::MissingUnit);
    }
    let Some((_, unit)) = UNITS.iter().find(|unit| unit.0 == name) else {
        return Err(Fault::UnknownUnit(name));
    };
    let value = term_value(whole, fraction, *unit).ok_or(Fault::Invalid)?;
    Ok((value, rest))
}

fn term_value(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?
    };
    let value = whole
        .checked_mul(unit)?
        .checked_add(fraction_of(fraction, unit))?;
    (value <= 1 << 63).then_some(value)
}

fn split_digits(text: &str) -> (&str, &str) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    text.split_at(length)
}

/// `0.digits` of a unit, rounded toward zero. Digits beyond those a double can tell apart are ignored, as in Go.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut numerator = 0_u64;
    let mut scale = 1_u64;
    for digit in digits.bytes().take(18) {
        numerator = numerator * 10 + u64::from(digit - b'0');
        scale *= 10;
    }
    let nanoseconds = u128::from(numerator) * u128::from(unit) / u128::from(scale);
    u64::try_from(nanoseconds).expect("a fraction of a unit is less than the unit")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// api-machinery.md §4/timeout; dependencies.md §3, durations
    #[test]
    fn parse_errors_have_the_wording_of_go() {
        for (text, expected) in [
            ("32", "time: missing unit in duration \"32\""),
            ("1d", "time: unknown unit \"d\" in duration \"1d\""),
            ("1s ", "time: unknown unit \"s \" in duration \"1s \""),
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("s", "time: invalid duration \"s\""),
            (".s", "time: invalid duration \".s\""),
            ("1.2.3s", "time: missing unit in duration \"1.2.3s\""),
            ("9999999h", "time: invalid duration \"9999999h\""),
            (
                "99999999999999999999h",
                "time: invalid duration \"99999999999999999999h\"",
            ),
        ] {
            let error = Duration::parse(text).map_err(|error| error.to_string());
            assert_eq!(error, Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn durations_convert_to_the_standard_type_unless_negative() {
        let std = |text| Duration::parse(text).map(Duration::to_std);
        let positive = |text| Duration::parse(text).map(Duration::to_std_positive);
        let some = |nanos| Ok(Some(std::time::Duration::from_nanos(nanos)));
        for (text, nanos) in [
            ("1ns", 1),
            ("2us", 2_000),
            ("2µs", 2_000),
            (".5s", 500_000_000),
            ("100ms", 100_000_000),
            ("1.5h", 5_400_000_000_000),
            ("1h15m30.918s", 4_530_918_000_000),
        ] {
            assert_eq!(std(text), some(nanos), "{text}");
            assert_eq!(positive(text), some(nanos), "{text}");
        }
        assert_eq!(std("0"), some(0));
        assert_eq!(positive("0s"), Ok(None));
        assert_eq!(std("-3s"), Ok(None));
        assert_eq!(positive("-3s"), Ok(None));
    }
}
