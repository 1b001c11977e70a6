//! Durations in Go's notation.

use std::fmt;

/// A signed span of time in nanoseconds, about 292 years either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration {
    nanoseconds: i64,
}

/// Why a duration could not be read or computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// The text is not a duration, or one that 64 bits cannot hold.
    #[error("type conversion error from 'string' to 'google.protobuf.Duration'")]
    Conversion,
    /// The result does not fit.
    #[error("integer overflow")]
    Overflow,
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
    pub fn parse(text: &str) -> Result<Self, DurationError> {
        parse(text)
            .map(Self::from_nanoseconds)
            .ok_or(DurationError::Conversion)
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, DurationError> {
        self.nanoseconds
            .checked_add(other.nanoseconds)
            .map(Self::from_nanoseconds)
            .ok_or(DurationError::Overflow)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, DurationError> {
        self.nanoseconds
            .checked_sub(other.nanoseconds)
            .map(Self::from_nanoseconds)
            .ok_or(DurationError::Overflow)
    }

    /// The opposite.
    pub fn negated(self) -> Result<Self, DurationError> {
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

fn parse(text: &str) -> Option<i64> {
    let is_negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if unsigned == "0" {
        return Some(0);
    }
    if unsigned.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let (term, after) = parse_term(rest)?;
        // One more than the largest positive value is the smallest negative one.
        total = total.checked_add(term).filter(|&total| total <= 1 << 63)?;
        rest = after;
    }
    if is_negative {
        return 0_i64.checked_sub_unsigned(total);
    }
    i64::try_from(total).ok()
}

/// One number with its unit, in nanoseconds, and what follows.
fn parse_term(text: &str) -> Option<(u64, &str)> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let length = rest.find(|next: char| next == '.' || next.is_ascii_digit());
    let (name, rest) = rest.split_at(length.unwrap_or(rest.len()));
    let unit = UNITS.iter().find(|unit| unit.0 == name)?.1;
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?
    };
    let value = whole
        .checked_mul(unit)?
        .checked_add(fraction_of(fraction, unit))?;
    (value <= 1 << 63).then_some((value, rest))
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
