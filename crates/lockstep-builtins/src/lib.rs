//! Strategies of built-in kinds, as pure functions of objects.
//!
//! Objects are in the form that [`lockstep_kinds::typed`] produces. [`defaults`] applies defaulting; [`KindRules`] has
//! create and update preparation and validation for each kind; [`apis`] decides which APIs a server serves; [`parts`]
//! restricts writes through subresources.

pub mod accounts;
mod amounts;
pub mod apis;
mod autoscaling;
mod begin;
pub mod defaults;
pub mod limits;
mod look;
pub mod parts;
pub mod qos;
pub mod quota;
mod rules;
pub mod services;
pub mod statuses;
mod validate;

pub use rules::{KindRules, Part};
