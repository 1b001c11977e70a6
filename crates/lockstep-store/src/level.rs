//! The etcd release line presented to clients.

use std::fmt;
use std::str::FromStr;

/// A release line of etcd: the newest supported one or one of the three before it.
///
/// Clients detect features by it, so later features are hidden: `RangeStream` came with 3.7; storage version,
/// snapshot version, hash revision, quota and downgrade information came with 3.6.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Level(u8);

impl Level {
    pub(crate) const V3_4: Self = Self(4);
    pub(crate) const V3_6: Self = Self(6);
    /// The newest release line.
    pub const V3_7: Self = Self(7);

    /// The version reported to clients.
    pub(crate) fn release(self) -> String {
        format!("{self}.0")
    }

    /// Returns `value` from a level on, and the default before.
    pub(crate) fn since<T: Default>(self, level: Self, value: T) -> T {
        if self >= level { value } else { T::default() }
    }
}

impl Default for Level {
    fn default() -> Self {
        Self::V3_7
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "3.{}", self.0)
    }
}

/// Errors of parsing a level.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum InvalidLevel {
    /// The text is not a release line.
    #[error("could not parse \"{0}\" as version")]
    Text(String),
    /// The release line is not supported.
    #[error("emulation version {0} is not between [{oldest}, {newest}]", oldest = Level::V3_4, newest = Level::V3_7)]
    Outside(String),
}

impl FromStr for Level {
    type Err = InvalidLevel;

    /// Parses `3.6`, `v3.6` or `3.6.0`.
    fn from_str(text: &str) -> Result<Self, InvalidLevel> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        let line = bare.strip_suffix(".0").filter(|line| line.contains('.'));
        let numbers = line.unwrap_or(bare).split_once('.');
        let number = |part: &str| {
            let digits = part.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| part.parse::<u8>().ok()).flatten()
        };
        let numbers = numbers.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        let (major, minor) = numbers.ok_or_else(|| InvalidLevel::Text(text.to_owned()))?;
        let level = Self(minor);
        if major != 3 || level < Self::V3_4 || level > Self::V3_7 {
            return Err(InvalidLevel::Outside(format!("{major}.{minor}")));
        }
        Ok(level)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// etcd-api.md §2/range-stream-level: the window is the newest and the three before.
    #[test]
    fn a_level_is_one_of_the_last_four_release_lines() {
        for (text, level) in [
            ("3.4", Ok(Level::V3_4)),
            ("v3.5", Ok(Level(5))),
            ("3.6.0", Ok(Level::V3_6)),
            ("3.7", Ok(Level::V3_7)),
            ("3.3", Err(InvalidLevel::Outside("3.3".to_owned()))),
            ("3.8", Err(InvalidLevel::Outside("3.8".to_owned()))),
            ("2.6", Err(InvalidLevel::Outside("2.6".to_owned()))),
            ("3.6.1", Err(InvalidLevel::Text("3.6.1".to_owned()))),
            ("3", Err(InvalidLevel::Text("3".to_owned()))),
            ("3.+6", Err(InvalidLevel::Text("3.+6".to_owned()))),
            ("3.", Err(InvalidLevel::Text("3.".to_owned()))),
            ("", Err(InvalidLevel::Text(String::new()))),
        ] {
            assert_eq!(text.parse(), level, "{text:?}");
        }
        assert_eq!(
            "3.3".parse::<Level>().unwrap_err().to_string(),
            "emulation version 3.3 is not between [3.4, 3.7]"
        );
    }
}
