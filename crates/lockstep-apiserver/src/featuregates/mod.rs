//! Feature gates as objects that kubectl reads: `featuregates.lockstep.dev`.
//!
//! Each server writes its value of each gate ([`publish`]) to an entry of its own in the gate's object ([`document`]),
//! so any server shows the values of all. Lists, watches, selectors and tables are those of any other kind
//! ([`resource()`]). Clients cannot write these objects.

mod document;
mod publish;

pub(crate) use lockstep_catalog::feature_gates::{GROUP, resource};
use lockstep_catalog::feature_gates::{KIND, PLURAL, VERSION};
pub(crate) use publish::Publisher;
