//! Points in time between the years 1 and 9999, in nanoseconds.

mod civil;
mod parse;
mod zone;

use std::cmp::Ordering;
use std::fmt;

use crate::duration::{Duration, DurationOverflow};
pub use civil::CivilTime;
pub use parse::is_date;
pub use zone::{Zone, ZoneError};

/// First second of year 1.
pub const UNIX_SECONDS_MIN: i64 = -62_135_596_800;
/// Last second of year 9999.
pub const UNIX_SECONDS_MAX: i64 = 253_402_300_799;

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// A point in time. It remembers the offset it was written with, for printing only: equality and order are by instant.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    unix_seconds: i64,
    /// Below one second, counted forward also before 1970.
    nanoseconds: u32,
    offset_seconds: i32,
}

/// Errors of parsing or computing timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimestampError {
    /// The text is not RFC 3339.
    #[error("type conversion error from 'string' to 'google.protobuf.Timestamp'")]
    Conversion,
    /// Before year 1 or after year 9999.
    #[error("timestamp overflow")]
    Overflow,
}

impl Timestamp {
    /// Reads RFC 3339 text.
    pub fn parse(text: &str) -> Result<Self, TimestampError> {
        let written = parse::parse(text).ok_or(TimestampError::Conversion)?;
        Self::new(
            written.unix_seconds,
            written.nanoseconds,
            written.offset_seconds,
        )
    }

    /// The start of a second, in UTC.
    pub fn from_unix_seconds(seconds: i64) -> Result<Self, TimestampError> {
        Self::new(seconds, 0, 0)
    }

    fn new(
        unix_seconds: i64,
        nanoseconds: u32,
        offset_seconds: i32,
    ) -> Result<Self, TimestampError> {
        if !(UNIX_SECONDS_MIN..=UNIX_SECONDS_MAX).contains(&unix_seconds) {
            return Err(TimestampError::Overflow);
        }
        Ok(Self {
            unix_seconds,
            nanoseconds,
            offset_seconds,
        })
    }

    /// Whole seconds since 1970, rounded down: `int(timestamp)`.
    pub const fn unix_seconds(self) -> i64 {
        self.unix_seconds
    }

    /// Nanoseconds since the start of the second.
    pub const fn subsecond_nanoseconds(self) -> u32 {
        self.nanoseconds
    }

    /// This much later, or earlier for a negative duration. The written offset stays.
    pub fn plus(self, duration: Duration) -> Result<Self, TimestampError> {
        self.shifted(i128::from(duration.nanoseconds()))
    }

    /// This much earlier.
    pub fn minus(self, duration: Duration) -> Result<Self, TimestampError> {
        self.shifted(-i128::from(duration.nanoseconds()))
    }

    fn shifted(self, nanoseconds: i128) -> Result<Self, TimestampError> {
        let total = self.unix_nanoseconds() + nanoseconds;
        let per_second = i128::from(NANOSECONDS_PER_SECOND);
        let seconds = i64::try_from(total.div_euclid(per_second));
        let rest = u32::try_from(total.rem_euclid(per_second));
        match (seconds, rest) {
            (Ok(seconds), Ok(rest)) => Self::new(seconds, rest, self.offset_seconds),
            _ => Err(TimestampError::Overflow),
        }
    }

    /// The time from `earlier` to this.
    pub fn since(self, earlier: Self) -> Result<Duration, DurationOverflow> {
        i64::try_from(self.unix_nanoseconds() - earlier.unix_nanoseconds())
            .map(Duration::from_nanoseconds)
            .map_err(|_| DurationOverflow)
    }

    fn unix_nanoseconds(self) -> i128 {
        i128::from(self.unix_seconds) * i128::from(NANOSECONDS_PER_SECOND)
            + i128::from(self.nanoseconds)
    }

    /// Calendar and clock at this instant in a zone.
    pub fn in_zone(self, zone: &Zone) -> CivilTime {
        let local = self.unix_seconds + zone.offset_seconds(self.unix_seconds);
        CivilTime::at(local, self.nanoseconds)
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> Ordering {
        let instant = |timestamp: &Self| (timestamp.unix_seconds, timestamp.nanoseconds);
        instant(self).cmp(&instant(other))
    }
}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Timestamp {}

impl fmt::Display for Timestamp {
    /// RFC 3339 with the written offset and no trailing zeros in the fraction.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self.unix_seconds + i64::from(self.offset_seconds);
        let time = CivilTime::at(local, self.nanoseconds);
        let (year, month, date) = (time.year, time.month + 1, time.date);
        let (hours, minutes, seconds) = (time.hours, time.minutes, time.seconds);
        write!(
            out,
            "{year:04}-{month:02}-{date:02}T{hours:02}:{minutes:02}:{seconds:02}"
        )?;
        if self.nanoseconds > 0 {
            let fraction = format!("{:09}", self.nanoseconds);
            write!(out, ".{}", fraction.trim_end_matches('0'))?;
        }
        if self.offset_seconds == 0 {
            return out.write_str("Z");
        }
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        let minutes = self.offset_seconds.unsigned_abs() / 60;
        write!(out, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}
