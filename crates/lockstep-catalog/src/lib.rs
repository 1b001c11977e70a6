//! The catalog of served resources: which kinds the API server has, and their kind-specific behaviour.
//!
//! A [`Resource`] is one row: names, scope, verbs, versions, and a [`Strategy`] with the behaviour that differs from
//! kind to kind. A [`Registry`] holds the rows that are served at one moment, and [`discovery`] derives the discovery
//! documents from it.
//!
//! Everything here is a pure function of its arguments. The crate reads no clock, opens no socket and starts no task:
//! a conversion webhook is called through [`ConversionWebhook`], which the API server implements.

pub mod builtin;
pub mod crd;
pub mod discovery;
pub mod feature_gates;

mod columns;
mod conversion;
mod registry;
mod resource;
mod schema_change;
mod strategy;
mod subresource;
mod verb;
mod versions;

pub use columns::{Cell, Column, Columns, age};
pub use conversion::{BoxFuture, ConversionWebhook, Turn};
pub use lockstep_mvcc::BucketKey;
pub use registry::{Registry, ResourceId, Served};
pub use resource::{Configures, LEASES, Origin, Resource, SECRETS, SpecialKind};
pub use schema_change::{SchemaChange, SchemaChanged};
pub use strategy::{
    LastWrite, Present, ScalePaths, SelectableField, StoredAs, Strategy, Transform, Validate,
    Validation,
};
pub use subresource::Subresource;
pub use verb::Verb;
pub use versions::{EncodingVersion, Version, VersionIndex, Versions};
