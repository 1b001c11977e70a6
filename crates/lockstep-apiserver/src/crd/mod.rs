//! Custom resource definitions: resources that users make.
//!
//! A CRD is an object like any other. Each server follows all of them: when one comes, goes or
//! changes, the registry is swapped first and the conditions of the CRD are written after, so that
//! whatever says `Established` is served.

mod cleanup;
mod columns;
mod conditions;
mod conversion;
mod custom;
mod definition;
mod field_gates;
mod follow;
mod scales;
mod shape;
mod validate;

pub(crate) use conversion::{CALL_BYTES_MAX, CALL_OBJECTS_MAX, failed as conversion_failed};
pub use conversion::{Converter, Review, ReviewError, ReviewVersion};
pub use custom::{CustomError, resource};
pub use definition::Definition;
pub use field_gates::FieldGates;
pub(crate) use field_gates::{Kept, keep_gates};
pub use follow::Follower;
pub(crate) use shape::shape;
pub(crate) use validate::{validate, warnings};

/// The group of CRDs.
pub const GROUP: &str = "apiextensions.k8s.io";
/// The resource.
pub const PLURAL: &str = "customresourcedefinitions";
/// Where CRDs lie below the server's prefix.
pub const BUCKET: &str = "apiextensions.k8s.io/customresourcedefinitions";
