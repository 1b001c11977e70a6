//! Strategies of built-in kinds, as pure functions of objects.
//!
//! Objects are in the form that [`lockstep_kinds::typed`] produces. [`defaults`] applies defaulting; [`KindStrategy`] has
//! create and update preparation and validation for each kind; [`apis`] decides which APIs a server serves; [`parts`]
//! restricts writes through subresources.

pub mod accounts;
mod amounts;
pub mod apis;
mod autoscaling;
pub mod defaults;
pub mod limits;
mod look;
pub mod parts;
mod prepare;
pub mod qos;
pub mod quota;
pub mod services;
mod statuses;
mod strategy;
mod validate;

pub mod admission {
    //! Validation that webhook configurations and admission policies share.

    pub use crate::validate::webhooks::{check_conditions, check_rule};
}

pub use strategy::{KindStrategy, WriteEndpoint};
