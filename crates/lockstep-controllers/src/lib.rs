//! Controllers as pure state machines.
//!
//! Each controller receives changes (`observe`) and returns the required writes (`plan`), given a read-only view of the
//! cluster ([`ClusterView`]). Nothing here waits, reads a clock or writes: a driver executes the [`Action`]s, each of
//! which has the observed revision as its precondition.
//!
//! ```
//! use lockstep_controllers::{Controller, EnabledControllers};
//!
//! let enabled: EnabledControllers = "*,-namespace-controller".parse()?;
//! assert!(enabled.has(Controller::GarbageCollector));
//! assert!(!enabled.has(Controller::Namespace));
//! # Ok::<(), lockstep_controllers::UnknownController>(())
//! ```

mod action;
mod aggregation;
mod api_services;
mod conditions;
pub mod election;
mod enabled;
mod event;
mod garbage;
mod meta;
mod names;
mod namespace_defaults;
mod namespaces;
mod quotas;
pub mod servers;
mod view;

pub use action::{Action, Propagation};
pub use aggregation::Aggregation;
pub use api_services::ApiServices;
pub use enabled::{Controller, EnabledControllers, UnknownController};
pub use garbage::Garbage;
pub use meta::{FOREGROUND, Meta, ORPHAN, Owner};
pub use namespace_defaults::NamespaceDefaults;
pub use namespaces::Namespaces;
pub use quotas::Quotas;
pub use view::{Change, ClusterView, Id, Kind, Resource, Stored};

/// An object that is written down here.
fn made(value: lockstep_object::Value) -> lockstep_object::Object {
    lockstep_object::Object::from_value(value).expect("what is written down is a map")
}
