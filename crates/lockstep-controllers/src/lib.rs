//! Controllers as pure state machines.
//!
//! Each controller receives changes (`observe`) and returns the required writes (`plan`), given a read-only view of the
//! cluster ([`World`]). Nothing here waits, reads a clock or writes: a driver executes the [`Action`]s, each of which
//! has the observed revision as its precondition.
//!
//! ```
//! use lockstep_controllers::{Controller, Switches};
//!
//! let switches: Switches = "*,-namespace-controller".parse()?;
//! assert!(switches.has(Controller::GarbageCollector));
//! assert!(!switches.has(Controller::Namespace));
//! # Ok::<(), lockstep_controllers::UnknownController>(())
//! ```

mod action;
mod aggregation;
mod api_services;
mod conditions;
pub mod election;
mod event;
mod furnish;
mod garbage;
mod meta;
mod namespaces;
mod quotas;
pub mod servers;
mod switches;
mod world;

pub use action::{Action, Propagation};
pub use aggregation::Aggregation;
pub use api_services::ApiServices;
pub use furnish::Furnish;
pub use garbage::Garbage;
pub use meta::{FOREGROUND, Meta, ORPHAN, Owner};
pub use namespaces::Namespaces;
pub use quotas::Quotas;
pub use switches::{Controller, Switches, UnknownController};
pub use world::{Change, Id, Kind, Resource, Stored, World};

/// An object that is written down here.
fn made(value: lockstep_object::Value) -> lockstep_object::Object {
    lockstep_object::Object::from_value(value).expect("what is written down is a map")
}
