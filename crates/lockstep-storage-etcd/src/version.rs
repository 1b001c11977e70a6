//! etcd version and its known bugs.

use std::fmt;

/// Version of etcd.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// The oldest supported version: watches have progress requests and fragments.
    pub(crate) const OLDEST: Self = Self::new(3, 4, 0);

    const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }

    /// Parses `3.5.13` and `3.6.0-rc.1`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let released = text.split(['-', '+']).next()?;
        let mut parts = released.split('.').map(|part| part.parse().ok());
        let version = Self::new(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }

    /// True if a requested progress response follows the events that it covers.
    ///
    /// Up to 3.4.24 and 3.5.7 it may overtake them (etcd issue 15220).
    pub(crate) fn has_ordered_progress(self) -> bool {
        self.has_fix(25, 8)
    }

    /// True if a watch that starts at the compacted revision delivers its deletes.
    ///
    /// Up to 3.4.35 and 3.5.17 it may not (etcd issues 18089 and 19179).
    pub(crate) fn keeps_deletes_at_compaction(self) -> bool {
        self.has_fix(36, 18)
    }

    /// True if the version has a fix released in these patches, and so in 3.6.
    fn has_fix(self, in_3_4: u32, in_3_5: u32) -> bool {
        match (self.major, self.minor) {
            (3, 4) => self.patch >= in_3_4,
            (3, 5) => self.patch >= in_3_5,
            _ => self > Self::OLDEST,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_three_numbers() {
        assert_eq!(Version::parse("3.5.13"), Some(Version::new(3, 5, 13)));
        assert_eq!(Version::parse("3.6.0-rc.1"), Some(Version::new(3, 6, 0)));
        for text in ["", "3", "3.5", "3.5.x", "3.5.1.2", "not_decided"] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
        assert!(Version::new(3, 3, 27) < Version::OLDEST);
        assert!(Version::new(3, 10, 0) > Version::new(3, 9, 9));
    }

    #[test]
    fn deletes_are_kept_from_the_releases_that_mended_it() {
        let kept = |text| Version::parse(text).map(Version::keeps_deletes_at_compaction);
        for text in ["3.4.36", "3.5.18", "3.6.0", "3.7.0"] {
            assert_eq!(kept(text), Some(true), "{text}");
        }
        for text in ["3.4.35", "3.5.17"] {
            assert_eq!(kept(text), Some(false), "{text}");
        }
    }

    #[test]
    fn progress_is_trusted_from_the_releases_that_mended_it() {
        let trusted = |text| Version::parse(text).map(Version::has_ordered_progress);
        for text in ["3.4.25", "3.5.8", "3.5.21", "3.6.0", "3.7.1", "4.0.0"] {
            assert_eq!(trusted(text), Some(true), "{text}");
        }
        for text in ["3.4.0", "3.4.24", "3.5.0", "3.5.7"] {
            assert_eq!(trusted(text), Some(false), "{text}");
        }
    }
}
