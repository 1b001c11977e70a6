//! Time zones by IANA name or by offset.
//!
//! Names are looked up in tables compiled into the program: every server answers alike, also on a machine without zone
//! files.

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::super::go_quote::quote_for_error;

/// Offsets at or beyond this many hours are refused; no clock on earth is that far off.
const OFFSET_HOURS_MAX: i64 = 100;

/// Where a clock stands.
#[derive(Clone, Debug)]
pub enum Zone {
    /// A constant number of seconds east of Greenwich.
    Fixed(i64),
    /// A named zone with its history.
    Named(TimeZone),
}

/// Why a zone was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZoneError {
    /// No zone has this name.
    #[error("unknown time zone {0}")]
    Unknown(String),
    /// An offset whose hours or minutes are no number.
    #[error("strconv.Atoi: parsing {}: invalid syntax", quote_for_error(.0))]
    NotANumber(String),
    /// An offset of days.
    #[error("time zone offset {0} is out of range")]
    OffsetOutOfRange(String),
}

impl Zone {
    /// Coordinated universal time, the default of every accessor.
    pub const UTC: Self = Self::Fixed(0);

    /// Reads an IANA name, spelled exactly, or an offset `±hh:mm` whose plus sign may be missing.
    pub fn parse(text: &str) -> Result<Self, ZoneError> {
        if let Some((hours, minutes)) = text.split_once(':') {
            return parse_offset(text, hours, minutes).map(Self::Fixed);
        }
        if text.is_empty() || text == "UTC" {
            return Ok(Self::UTC);
        }
        TimeZoneDatabase::bundled()
            .get(text)
            .ok()
            // The tables are searched without regard to case, files upstream are not.
            .filter(|zone| zone.iana_name() == Some(text))
            .map(Self::Named)
            .ok_or_else(|| ZoneError::Unknown(text.to_owned()))
    }

    /// Seconds east of Greenwich at an instant.
    pub(super) fn offset_seconds(&self, unix_seconds: i64) -> i64 {
        match self {
            Self::Fixed(seconds) => *seconds,
            Self::Named(zone) => {
                // The crate's own range ends a day short of ours at either side; no zone changes its offset there.
                let lowest = jiff::Timestamp::MIN.as_second();
                let highest = jiff::Timestamp::MAX.as_second();
                let instant = unix_seconds.clamp(lowest, highest);
                jiff::Timestamp::from_second(instant)
                    .map_or(0, |instant| i64::from(zone.to_offset(instant).seconds()))
            }
        }
    }
}

fn parse_offset(text: &str, hours: &str, minutes: &str) -> Result<i64, ZoneError> {
    let number = |digits: &str| {
        let parsed = digits.parse::<i64>();
        parsed.map_err(|_| ZoneError::NotANumber(digits.to_owned()))
    };
    let is_west = text.starts_with('-');
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let in_range = hours.abs() < OFFSET_HOURS_MAX && (0..60).contains(&minutes);
    if !in_range {
        return Err(ZoneError::OffsetOutOfRange(text.to_owned()));
    }
    let minutes = if is_west { -minutes } else { minutes };
    Ok((hours * 60 + minutes) * 60)
}
