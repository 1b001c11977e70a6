//! Writes that controllers request.

use lockstep_object::Object;

use crate::Id;

/// One write with a precondition: it is dropped if the object changed since the controller read it. The change triggers
/// a new reconciliation.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Creates an object unless it exists. The driver sets uid and creationTimestamp.
    Create {
        /// Key of the object.
        id: Id,
        /// The object to create.
        object: Object,
    },
    /// Replaces the object at a revision; removes it if it is being deleted and has no finalizers left.
    Replace {
        /// Key of the object.
        id: Id,
        /// Revision of the object that was read.
        revision: u64,
        /// By what.
        object: Object,
    },
    /// Deletes the object at a revision through the delete path, so that finalizers apply.
    Delete {
        /// Key of the object.
        id: Id,
        /// Revision of the object that was read.
        revision: u64,
        /// Deletion propagation.
        propagation: Propagation,
    },
}

/// Deletion propagation policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    /// Dependents are deleted after the owner.
    Background,
    /// Dependents are deleted before the owner.
    Foreground,
    /// Dependents are kept.
    Orphan,
}

impl Action {
    /// The object that is written.
    pub fn id(&self) -> &Id {
        match self {
            Self::Create { id, .. } | Self::Replace { id, .. } | Self::Delete { id, .. } => id,
        }
    }
}
