//! Background loops: what is to be done about the objects of a cluster.
//!
//! Each loop takes changes in (`observe`) and says what to do about them (`plan`), given what it can
//! see ([`World`]). Nothing here waits, reads a clock or writes: whoever drives the loops carries out
//! their [`Action`]s, none of which touches an object that moved since the loop looked at it.
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
