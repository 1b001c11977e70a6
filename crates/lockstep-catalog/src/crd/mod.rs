//! Custom resource definitions: reading, defaulting and validating a CRD, and compiling it to a [`Resource`].
//!
//! [`Resource`]: crate::Resource

mod ca_bundle;
mod columns;
pub mod conditions;
mod custom;
mod defaults;
mod definition;
mod field_gates;
mod scales;
mod validate;

pub use ca_bundle::check_bundle;
pub use custom::{CelTimer, Compilation, CustomError, Untimed, resource};
pub use definition::{DefinedVersion, Definition};
pub use field_gates::{FieldGates, Kept, keep_gates, write_status};

pub(crate) use defaults::apply_defaults;
pub(crate) use validate::{validate, warnings};

/// The group of CRDs.
pub const GROUP: &str = "apiextensions.k8s.io";
/// The plural of CRDs.
pub const PLURAL: &str = "customresourcedefinitions";
/// The key range of CRDs below the server's prefix.
pub const BUCKET: &str = "apiextensions.k8s.io/customresourcedefinitions";
/// The finalizer that keeps a CRD until its objects are deleted.
pub const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";
