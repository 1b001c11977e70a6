//! Feature gates as objects that kubectl reads: `featuregates.lockstep.dev`.
//!
//! Each server writes what it decided for each gate into the object of the gate ([`publish`]), in a
//! place of its own ([`document`]); so every server answers for all of them, and lists, watches,
//! selectors and tables are those of any other kind ([`resource`]). Nobody else can write them.

mod document;
mod publish;
mod resource;

pub(crate) use publish::Publisher;
pub(crate) use resource::resource;

/// The group of what is ours.
pub(crate) const GROUP: &str = "lockstep.dev";
const VERSION: &str = "v1alpha1";
const PLURAL: &str = "featuregates";
const KIND: &str = "FeatureGate";
