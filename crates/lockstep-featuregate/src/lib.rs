//! Versioned feature gates.

mod version;

pub use version::{Version, VersionError};
