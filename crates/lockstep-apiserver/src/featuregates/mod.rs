//! Feature gates as objects that kubectl reads: `featuregates.lockstep.dev`.
//!
//! Each server writes what it decided for each gate into the object of the gate ([`publish`]), in a
//! place of its own ([`document`]); so every server answers for all of them, and lists, watches,
//! selectors and tables are those of any other kind ([`resource()`]). Nobody else can write them.

mod document;
mod publish;

pub(crate) use lockstep_catalog::feature_gates::{GROUP, resource};
use lockstep_catalog::feature_gates::{KIND, PLURAL, VERSION};
pub(crate) use publish::Publisher;
