//! Who owns which fields of an object: `metadata.managedFields`, and server-side apply.
//!
//! [`update`] is for whoever says what an object is: what they change becomes theirs alone. [`apply`] is for whoever
//! says what they want of it: what they want becomes theirs too, and it is a conflict if somebody else wants something
//! else. Neither knows a store, a clock or HTTP; what differs between endpoints comes from an [`Endpoint`].

mod apply;
mod cap;
mod conflict;
mod endpoint;
mod last_applied;
mod managed;
mod prune;
mod update;

pub use apply::{Applied, ApplyError, Force, apply};
pub use cap::UPDATE_CLAIMS_MAX;
pub use conflict::{Conflict, Conflicts};
pub use endpoint::{Endpoint, Writer};
pub use last_applied::LAST_APPLIED;
pub use managed::{Claim, Managed, ManagedError, Operation, Owner};
pub use update::{UpdateError, update};
