//! `major.minor` versions of histories, emulation and compatibility.

use std::fmt;

/// A release line such as `1.36`, ordered by number: 1.9 < 1.10 < 2.0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Version {
    major: u16,
    minor: u16,
}

/// Short for [`Version::new`], for code that differs by version: `gates.emulation() >= v(1, 36)`.
pub const fn v(major: u16, minor: u16) -> Version {
    Version::new(major, minor)
}

/// Errors of parsing a version.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VersionError {
    /// Not numbers separated by dots, or something trails them.
    #[error("could not parse \"{0}\" as version")]
    Unparsable(String),
    /// A major number and no minor one: `1`, `1.`, `1.foo`.
    #[error("illegal version string \"{0}\"")]
    TooShort(String),
    /// A patch number where only `major.minor` makes sense.
    #[error("patch version not allowed, got: {0}")]
    Patch(String),
}

impl Version {
    /// Before every release: an entry with this version holds always.
    pub const ZERO: Version = Version::new(0, 0);

    /// The version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    /// The first number.
    pub const fn major(self) -> u16 {
        self.major
    }

    /// The second number.
    pub const fn minor(self) -> u16 {
        self.minor
    }

    /// `count` minor releases earlier, never below `major.0`.
    #[must_use]
    pub const fn minus_minors(self, count: u16) -> Self {
        Self::new(self.major, self.minor.saturating_sub(count))
    }

    /// `count` minor releases later.
    #[must_use]
    pub const fn plus_minors(self, count: u16) -> Self {
        Self::new(self.major, self.minor.saturating_add(count))
    }

    /// Orders like the version itself, for `const` code where `Ord` cannot be used.
    pub(crate) const fn ordinal(self) -> u32 {
        ((self.major as u32) << 16) | self.minor as u32
    }

    /// Reads `1.36`, `v1.36` or `1.36.0`. A patch other than zero and any trailing text are refused.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let number = parse_numbers(text)?;
        match number.patch {
            None | Some(0) => Ok(number.line),
            Some(_) => Err(VersionError::Patch(
                text.trim().trim_start_matches('v').to_owned(),
            )),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The version a binary was built as: a release line, and the patch that only people look at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BinaryVersion {
    line: Version,
    patch: Option<u16>,
}

impl BinaryVersion {
    /// A build of this release line without a patch number.
    pub const fn of(line: Version) -> Self {
        Self { line, patch: None }
    }

    /// Reads `1.37` or `1.37.4`, with or without a leading `v`.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        parse_numbers(text)
    }

    /// The release line without the patch, used for gates, emulation and compatibility.
    pub const fn line(self) -> Version {
        self.line
    }
}

impl fmt::Display for BinaryVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.line.fmt(f)?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

fn parse_numbers(text: &str) -> Result<BinaryVersion, VersionError> {
    let trimmed = text.trim();
    let digits = trimmed.strip_prefix('v').unwrap_or(trimmed);
    let unparsable = || {
        if has_major_alone(digits) {
            VersionError::TooShort(text.to_owned())
        } else {
            VersionError::Unparsable(text.to_owned())
        }
    };
    let numbers = digits
        .split('.')
        .map(|part| parse_number(part).ok_or_else(unparsable))
        .collect::<Result<Vec<u16>, _>>()?;
    match numbers[..] {
        [major, minor] => Ok(BinaryVersion {
            line: v(major, minor),
            patch: None,
        }),
        [major, minor, patch] => Ok(BinaryVersion {
            line: v(major, minor),
            patch: Some(patch),
        }),
        _ => Err(unparsable()),
    }
}

/// True if the text has a major number and no minor one.
fn has_major_alone(text: &str) -> bool {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let minor = rest.strip_prefix('.').unwrap_or_default();
    rest.len() < text.len() && !minor.starts_with(|c: char| c.is_ascii_digit())
}

/// Digits only: `u16::from_str` would also take a plus sign, and `01` reads as a typing error.
fn parse_number(part: &str) -> Option<u16> {
    let canonical = part == "0" || !part.starts_with('0');
    let digits = part.bytes().all(|byte| byte.is_ascii_digit());
    (canonical && digits).then(|| part.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// feature-gates.md §2/numbers.
    #[test]
    fn versions_compare_as_numbers_not_as_text() {
        assert!(v(1, 9) < v(1, 10));
        assert!(v(1, 10) < v(2, 0));
        assert!(v(1, 9).ordinal() < v(1, 10).ordinal());
        assert!(v(1, 65535).ordinal() < v(2, 0).ordinal());
    }

    /// feature-gates.md §6/emulated, §0/U6.
    #[test]
    fn a_version_is_two_numbers_with_an_optional_v_and_an_optional_zero_patch() {
        for (text, expected) in [
            ("1.36", Ok("1.36")),
            ("v1.36", Ok("1.36")),
            (" 1.36 ", Ok("1.36")),
            ("1.36.0", Ok("1.36")),
            ("1.36.2", Err("patch version not allowed, got: 1.36.2")),
            ("1", Err("illegal version string \"1\"")),
            ("1.", Err("illegal version string \"1.\"")),
            ("v1.foo", Err("illegal version string \"v1.foo\"")),
            ("latest", Err("could not parse \"latest\" as version")),
            ("1.36abc", Err("could not parse \"1.36abc\" as version")),
            (
                "1.36-alpha.1",
                Err("could not parse \"1.36-alpha.1\" as version"),
            ),
            ("", Err("could not parse \"\" as version")),
            (".1", Err("could not parse \".1\" as version")),
            ("+1.2", Err("could not parse \"+1.2\" as version")),
            ("1.036", Err("could not parse \"1.036\" as version")),
            ("1.36.0.0", Err("could not parse \"1.36.0.0\" as version")),
            ("1.99999", Err("could not parse \"1.99999\" as version")),
            ("vv1.36", Err("could not parse \"vv1.36\" as version")),
        ] {
            let actual = Version::parse(text)
                .map(|v| v.to_string())
                .map_err(|e| e.to_string());
            assert_eq!(
                actual,
                expected.map(str::to_owned).map_err(str::to_owned),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_binary_version_keeps_its_patch_for_people() {
        let binary = BinaryVersion::parse("v1.37.4").unwrap();
        assert_eq!(
            (binary.line(), binary.to_string()),
            (v(1, 37), "1.37.4".to_owned())
        );
    }
}
