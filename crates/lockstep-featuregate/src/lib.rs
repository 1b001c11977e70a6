//! Versioned feature gates.
//!
//! A feature has a history: the versions since which it is alpha, beta, GA and locked. A server is built at one
//! version, may emulate an earlier one, and gets gate settings from flags, environment variables and a file. This
//! crate resolves them to one immutable set of values that costs a single load to read, or to the complete list of
//! reasons not to start.
//!
//! ```
//! use lockstep_featuregate::{BinaryVersion, Builder, Component, Registry, features, v};
//!
//! features! {
//!     kube {
//!         /// Lists are split over several servers.
//!         ShardedLists { "1.34": Alpha, "1.35": Beta on, "1.36": GA on locked },
//!         /// Fields of custom resources have gates of their own.
//!         FieldLevel { "1.36": Alpha, after: [ShardedLists], api },
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let kube = Component::declared(BinaryVersion::of(v(1, 36)), &[&KUBE]).expect("declared gates fit");
//! let started = Builder::new(Registry::new([kube])?)
//!     .flag("FieldLevel=true")
//!     .try_finish()?;
//! assert!(started.gates.enabled(FIELD_LEVEL));
//! # Ok(())
//! # }
//! ```
//!
//! No IO, no async, no Kubernetes types. Features: `serde` reads registry files, `testing` has
//! helpers for tests.

// Reading order: words, rules, declarations, what people ask for, the finished set.
mod errors;
mod feature;
mod stage;
mod version;

mod cell;
mod dependency;
mod history;
mod resolve;
mod text;

mod component;
mod declare;
mod registry;

mod builder;
mod decide;
mod options;
mod requested;
mod settings;
mod start_error;
mod suggestion;
mod versions;
mod warning;

pub mod api_field;
mod cluster_switch;
mod component_gates;
mod gates;
mod known;
pub mod metrics;
mod process;

pub mod docs;
pub mod lint;
pub mod plan;
pub mod preflight;

#[cfg(feature = "serde")]
pub mod file;
#[cfg(feature = "serde")]
pub mod listing;

pub use builder::{Builder, Started};
pub use cluster_switch::ClusterSwitch;
pub use component::{Component, DEFAULT_COMPONENT, Tombstone};
pub use component_gates::ComponentGates;
pub use declare::{Declaration, Gate, Group, check_dependencies};
pub use errors::{Errors, RegistrationError};
pub use feature::{ALL_ALPHA, ALL_BETA, Entry, Feature, NAME_LENGTH_MAX, Scope, is_valid_name};
pub use gates::{Explanation, Gates};
pub use lockstep_featuregate_macros::features;
pub use options::{ForeignGates, Options, RemovedGates};
pub use registry::{Registry, VersionMapping};
pub use resolve::resolve;
pub use settings::Source;
pub use stage::Stage;
pub use start_error::{Hint, StartError};
pub use suggestion::suggestion;
pub use version::{BinaryVersion, Version, VersionError, v};
pub use versions::Versions;
pub use warning::Warning;

/// Minor releases that a server can emulate back.
pub const EMULATED_MINORS: u16 = 3;

#[cfg(feature = "testing")]
pub mod testing;
