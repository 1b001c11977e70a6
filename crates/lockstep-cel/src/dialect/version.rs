//! Kubernetes versions that introduced each feature.

use std::fmt;
use std::str::FromStr;

/// A Kubernetes version: major and minor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    major: u16,
    minor: u16,
}

impl Version {
    /// Newer than every feature: expressions that are already stored compile with everything.
    pub const LATEST: Self = Self {
        major: u16::MAX,
        minor: u16::MAX,
    };

    /// Version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The text is not a `major.minor` version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version of the form `1.30`")]
pub struct VersionError(String);

impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let parse = |text: &str| {
            let (major, minor) = text.split_once('.')?;
            Some(Self::new(major.parse().ok()?, minor.parse().ok()?))
        };
        parse(text).ok_or_else(|| VersionError(text.to_owned()))
    }
}

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident = $key:literal since $major:literal . $minor:literal;)*) => {
        /// A part of the language that arrived with a version.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Feature { $($(#[$doc])* $name,)* }

        impl Feature {
            /// All of them, oldest first.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The version that introduced it.
            pub const fn since(self) -> Version {
                match self { $(Self::$name => Version::new($major, $minor),)* }
            }

            /// A short name for listings.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $key,)* }
            }
        }
    };
}

features! {
    /// Standard library, url, regex, lists, homogeneous literals, UTC as default zone, the first strings library.
    Base = "base" since 1 . 0;
    /// The authorizer library.
    Authorizer = "authorizer" since 1 . 27;
    /// Ordering across int, uint and double.
    CrossTypeComparison = "cross-type-comparison" since 1 . 28;
    /// Optional syntax, macros and functions.
    Optionals = "optionals" since 1 . 28;
    /// Quantities.
    Quantity = "quantity" since 1 . 28;
    /// Constant arguments of `duration`, `timestamp` and `matches` are checked.
    LiteralValidators = "literal-validators" since 1 . 29;
    /// `format` and `strings.quote`.
    StringsV2 = "strings-v2" since 1 . 29;
    /// Sets.
    Sets = "sets" since 1 . 29;
    /// IP addresses and networks.
    Network = "network" since 1 . 30;
    /// Named formats.
    Formats = "formats" since 1 . 31;
    /// Selectors of the authorizer.
    AuthorizerSelectors = "authorizer-selectors" since 1 . 31;
    /// Reserved words as fields of schema types.
    ReservedFields = "reserved-fields" since 1 . 31;
    /// Macros with two variables.
    TwoVariableMacros = "two-variable-macros" since 1 . 32;
    /// Semantic versions.
    Semver = "semver" since 1 . 33;
    /// The extended list library.
    ListsExt = "lists-ext" since 1 . 34;
    /// `includes`.
    Includes = "includes" since 1 . 37;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_order_and_read_back() {
        let version: Version = "1.30".parse().unwrap();
        assert_eq!(
            (version, version.to_string()),
            (Version::new(1, 30), "1.30".to_owned())
        );
        assert!(Version::new(1, 9) < version && version < Version::LATEST);
        assert_eq!("v1".parse::<Version>(), Err(VersionError("v1".to_owned())));
    }

    #[test]
    fn features_are_listed_in_the_order_they_came() {
        assert!(Feature::ALL.is_sorted_by_key(|feature| feature.since()));
    }
}
