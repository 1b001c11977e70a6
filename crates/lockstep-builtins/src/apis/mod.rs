//! Which of its APIs a server has: what existed at the version it emulates, and what its
//! operator asks for.
//!
//! An API is a resource in one version of its group. [`lifecycle`] knows when each came and went;
//! [`RuntimeConfig`] is what `--runtime-config` says; [`served`] decides.

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
    /// When it came and went.
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

/// How far a version of an API is, by its name.
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
