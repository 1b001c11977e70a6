//! Semantic versions as the Kubernetes library reads them.

use std::cmp::Ordering;

use crate::print::quote;

/// A version. Equality and order follow `SemVer` 2 precedence, so build metadata plays no part in either.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Semver {
    major: u64,
    minor: u64,
    patch: u64,
    pre_release: PreRelease,
}

/// Why a version was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SemverError {
    /// The text is empty.
    #[error("Version string empty")]
    Empty,
    /// There are fewer than three parts.
    #[error("No Major.Minor.Patch elements found")]
    TooFewParts,
    /// A part of the core is not made of digits.
    #[error("Invalid character(s) found in {part} number {}", quote(.text))]
    NotANumber {
        /// `major`, `minor` or `patch`.
        part: &'static str,
        /// The part as written.
        text: String,
    },
    /// A number begins with a zero it does not need.
    #[error("{part} must not contain leading zeroes {}", quote(.text))]
    LeadingZeroes {
        /// Name of the number at the start of the message.
        part: &'static str,
        /// The number as written.
        text: String,
    },
    /// A number is absent.
    #[error("strconv.ParseUint: parsing \"\": invalid syntax")]
    MissingNumber,
    /// A number needs more than 64 bits.
    #[error("strconv.ParseUint: parsing {}: value out of range", quote(.0))]
    NumberTooLarge(String),
    /// Two dots, or a dash, with nothing behind.
    #[error("Prerelease is empty")]
    EmptyPreRelease,
    /// A pre-release identifier has a character outside `0-9A-Za-z-`.
    #[error("Invalid character(s) found in prerelease {}", quote(.0))]
    InvalidPreRelease(String),
    /// Two dots, or a plus, with nothing behind.
    #[error("Build meta data is empty")]
    EmptyBuild,
    /// A build identifier has a character outside `0-9A-Za-z-`.
    #[error("Invalid character(s) found in build meta data {}", quote(.0))]
    InvalidBuild(String),
    /// A shortened version with a pre-release or build part, which is ambiguous.
    #[error("short version cannot contain PreRelease/Build meta data")]
    ShortWithSuffix,
}

/// Leniency of [`Semver::parse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalize {
    /// Exactly `SemVer` 2.
    No,
    /// One leading `v`, missing parts and leading zeros are forgiven.
    Yes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PreRelease(Vec<Identifier>);

/// Numbers come before words, as in the derived order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Semver {
    /// Reads a version.
    pub fn parse(text: &str, normalize: Normalize) -> Result<Self, SemverError> {
        match normalize {
            Normalize::No => parse_strict(text),
            Normalize::Yes => parse_strict(&normalized(text)?),
        }
    }

    /// The first number.
    pub fn major(&self) -> i64 {
        self.major.cast_signed()
    }

    /// The second number.
    pub fn minor(&self) -> i64 {
        self.minor.cast_signed()
    }

    /// The third number.
    pub fn patch(&self) -> i64 {
        self.patch.cast_signed()
    }
}

impl Ord for PreRelease {
    /// A release comes after its pre-releases.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.0.is_empty(), other.0.is_empty()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => self.0.cmp(&other.0),
        }
    }
}

impl PartialOrd for PreRelease {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn normalized(text: &str) -> Result<String, SemverError> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let mut parts: Vec<String> = text.splitn(3, '.').map(without_leading_zeros).collect();
    if parts.len() < 3 {
        if parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err(SemverError::ShortWithSuffix);
        }
        parts.resize(3, "0".to_owned());
    }
    Ok(parts.join("."))
}

/// Without zeros in front, but never without a digit in front.
fn without_leading_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    if trimmed.starts_with(|first: char| first.is_ascii_digit()) {
        trimmed.to_owned()
    } else {
        format!("0{trimmed}")
    }
}

fn parse_strict(text: &str) -> Result<Semver, SemverError> {
    if text.is_empty() {
        return Err(SemverError::Empty);
    }
    let mut parts = text.splitn(3, '.');
    let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(SemverError::TooFewParts);
    };
    let major = core_number("major", "Major number", major)?;
    let minor = core_number("minor", "Minor number", minor)?;
    let (rest, build) = match rest.split_once('+') {
        Some((rest, build)) => (rest, Some(build)),
        None => (rest, None),
    };
    let (patch, pre_release) = match rest.split_once('-') {
        Some((patch, pre_release)) => (patch, Some(pre_release)),
        None => (rest, None),
    };
    let version = Semver {
        major,
        minor,
        patch: core_number("patch", "Patch number", patch)?,
        pre_release: parse_pre_release(pre_release)?,
    };
    check_build(build)?;
    Ok(version)
}

fn core_number(
    part: &'static str,
    long_part: &'static str,
    text: &str,
) -> Result<u64, SemverError> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.to_owned();
        return Err(SemverError::NotANumber { part, text });
    }
    number(long_part, text)
}

/// Reads digits.
fn number(part: &'static str, text: &str) -> Result<u64, SemverError> {
    if text.is_empty() {
        return Err(SemverError::MissingNumber);
    }
    if text.len() > 1 && text.starts_with('0') {
        let text = text.to_owned();
        return Err(SemverError::LeadingZeroes { part, text });
    }
    text.parse()
        .map_err(|_| SemverError::NumberTooLarge(text.to_owned()))
}

fn parse_pre_release(text: Option<&str>) -> Result<PreRelease, SemverError> {
    let identifiers = text.into_iter().flat_map(|text| text.split('.'));
    let identifiers: Result<_, _> = identifiers.map(parse_identifier).collect();
    identifiers.map(PreRelease)
}

fn parse_identifier(text: &str) -> Result<Identifier, SemverError> {
    if text.is_empty() {
        return Err(SemverError::EmptyPreRelease);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return number("Numeric PreRelease version", text).map(Identifier::Number);
    }
    if text.bytes().all(is_identifier_byte) {
        return Ok(Identifier::Word(text.to_owned()));
    }
    Err(SemverError::InvalidPreRelease(text.to_owned()))
}

fn check_build(text: Option<&str>) -> Result<(), SemverError> {
    for identifier in text.into_iter().flat_map(|text| text.split('.')) {
        if identifier.is_empty() {
            return Err(SemverError::EmptyBuild);
        }
        if !identifier.bytes().all(is_identifier_byte) {
            return Err(SemverError::InvalidBuild(identifier.to_owned()));
        }
    }
    Ok(())
}

fn is_identifier_byte(byte: u8) -> bool {
    byte == b'-' || byte.is_ascii_alphanumeric()
}
