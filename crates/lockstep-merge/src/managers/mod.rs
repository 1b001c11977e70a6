//! Field management: ownership of fields in `metadata.managedFields`, and server-side apply.
//!
//! [`update`] records a create, update or patch: the writer becomes the only owner of the fields it changes. [`apply`]
//! is server-side apply: the manager co-owns the fields it applies, and another owner with a different value is a
//! conflict. The code is pure (no store, clock or HTTP); what differs between resources comes from an [`Endpoint`].

mod apply;
mod cap;
mod conflict;
mod endpoint;
mod last_applied;
mod managed;
mod prune;
mod update;

pub use apply::{Applied, ApplyError, Force, apply};
pub use cap::UPDATE_ENTRIES_MAX;
pub use conflict::{CONFLICTS_SHOWN_MAX, Conflict, Conflicts};
pub use endpoint::{Endpoint, Writer};
pub use last_applied::LAST_APPLIED;
pub use managed::{ManagedFields, ManagedFieldsEntry, ManagedFieldsError, Operation, Owner};
pub use update::{UpdateError, update};
