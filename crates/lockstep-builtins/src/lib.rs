//! The rules of built-in kinds, as functions of objects alone.
//!
//! Objects come in the form that [`lockstep_kinds::typed`] gives them. [`defaults`] fills in what nobody set;
//! [`KindRules`] has, for each kind, what the server gives a new object, what becomes of it in a change, and what is
//! wrong with it; [`apis`] decides which of them a server has; [`parts`] has what endpoints of parts of objects may write.

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
