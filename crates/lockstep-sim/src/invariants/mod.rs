//! Rules that hold in every run, one file each.

pub(crate) mod committed;
pub(crate) mod convergence;
pub(crate) mod leaders;
pub(crate) mod membership;

pub(crate) use committed::Committed;
pub(crate) use leaders::Leaders;
pub(crate) use membership::Membership;

/// A broken rule.
pub(crate) type Broken = String;
