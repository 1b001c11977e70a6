//! The `major.minor` numbers that feature histories, emulation and compatibility are told in.

use std::fmt;

/// A release line such as `1.36`, ordered by number: 1.9 < 1.10 < 2.0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version {
    major: u16,
    minor: u16,
}

/// Why a text is not a version.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VersionError {
    /// The text has no numbers where a version has them.
    #[error("could not parse \"{0}\" as version")]
    Unparsable(String),
}

impl Version {
    /// The version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers_not_as_text() {
        assert!(Version::new(1, 9) < Version::new(1, 10));
        assert!(Version::new(1, 10) < Version::new(2, 0));
    }
}
