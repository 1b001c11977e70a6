//! Time zones by IANA name or by offset.
//!
//! Names are looked up in tables compiled into the program: every server answers alike, also on a machine without zone
//! files.

use std::num::IntErrorKind;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::print::quote;

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
    #[error("strconv.Atoi: parsing {}: invalid syntax", quote(.0))]
    NotANumber(String),
    /// An offset whose hours or minutes need more than 32 bits.
    #[error("strconv.Atoi: parsing {}: value out of range", quote(.0))]
    OutOfRange(String),
    /// A name that would leave a directory of zones.
    #[error("time: invalid location name")]
    InvalidName,
}

impl Zone {
    /// Coordinated universal time, the default of every accessor.
    pub const UTC: Self = Self::Fixed(0);

    /// Reads an IANA name, spelled exactly, or an offset `±hh:mm` whose plus sign may be missing. The empty name is UTC.
    pub fn parse(text: &str) -> Result<Self, ZoneError> {
        if let Some((hours, minutes)) = text.split_once(':') {
            return parse_offset(text, hours, minutes).map(Self::Fixed);
        }
        // A server's own zone must not decide what a policy means, so `Local` is UTC.
        if ["", "UTC", "Local"].contains(&text) {
            return Ok(Self::UTC);
        }
        if text.contains("..") || text.starts_with(['/', '\\']) {
            return Err(ZoneError::InvalidName);
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

/// Hours and minutes are any numbers, as upstream; a leading minus turns both.
fn parse_offset(text: &str, hours: &str, minutes: &str) -> Result<i64, ZoneError> {
    let hours = offset_number(hours)?;
    let minutes = offset_number(minutes)?;
    let minutes = if text.starts_with('-') {
        -minutes
    } else {
        minutes
    };
    Ok((hours * 60 + minutes) * 60)
}

fn offset_number(text: &str) -> Result<i64, ZoneError> {
    text.parse::<i32>()
        .map(i64::from)
        .map_err(|error| match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
                ZoneError::OutOfRange(text.to_owned())
            }
            _ => ZoneError::NotANumber(text.to_owned()),
        })
}
