//! Selection of served APIs by emulated version and `--runtime-config`.
//!
//! An API is a resource in one version of its group. [`lifecycle`] records when each was introduced and removed,
//! [`RuntimeConfig`] parses `--runtime-config`, and [`served`] decides.

mod lifecycle;
mod runtime_config;
mod serving;

pub use lifecycle::{Lifecycle, lifecycle};
pub use runtime_config::{RuntimeConfig, RuntimeConfigError};
pub use serving::{Emulated, ServingError, served};

/// A resource in one version of its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Api<'a> {
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The version of the group.
    pub version: &'a str,
    /// The resource.
    pub plural: &'a str,
    /// Versions of introduction and removal.
    pub lifecycle: Lifecycle,
}

impl Api<'_> {
    /// `group/version`, or the bare version of the core group.
    fn group_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// Maturity of an API version, derived from its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Maturity {
    Alpha,
    Beta,
    Stable,
}

fn maturity(version: &str) -> Maturity {
    if version.contains("alpha") {
        Maturity::Alpha
    } else if version.contains("beta") {
        Maturity::Beta
    } else {
        Maturity::Stable
    }
}
