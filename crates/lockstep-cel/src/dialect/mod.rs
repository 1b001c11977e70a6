//! Dialects of the language, and the features that a version of the Kubernetes dialect has.

mod version;

pub use version::{Feature, Version, VersionError};

/// Dialect of the language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// The specification with all its optional libraries.
    Spec,
    /// The language of Kubernetes.
    Kubernetes,
}
