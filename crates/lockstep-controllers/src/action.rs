//! What a loop wants done.

use lockstep_object::Object;

use crate::Id;

/// One write. None of them is done to an object that moved since the loop looked: whoever moved it
/// is looked at next.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Make an object, unless it is there. It has no uid and no time yet.
    Create {
        /// Where.
        id: Id,
        /// What.
        object: Object,
    },
    /// Put an object in the place of what was left at a revision; if it is going away and nothing
    /// holds it any more, it is gone.
    Replace {
        /// Which.
        id: Id,
        /// The revision.
        revision: u64,
        /// By what.
        object: Object,
    },
    /// Delete what was left at a revision, as a client would: those who hold it are asked.
    Delete {
        /// Which.
        id: Id,
        /// The revision.
        revision: u64,
        /// What becomes of what it owns.
        propagation: Propagation,
    },
}

/// What becomes of what a deleted object owns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Propagation {
    /// It goes after its owner.
    Background,
    /// It goes before its owner.
    Foreground,
    /// It stays.
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
