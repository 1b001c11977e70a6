//! One kept version of one key.

use bytes::Bytes;

use crate::{LeaseId, Revision};

/// One version of one key, as a put or a delete left it.
///
/// The machine shares each version by `Arc` with every reader; nobody changes one after it was
/// made. A delete leaves a *tombstone*: key and `mod_revision`, everything else zero or empty,
/// which is also how clients see it in a delete event.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyValue {
    /// The key.
    pub key: Bytes,
    /// The opaque value; empty in a tombstone and where only keys were asked for.
    pub value: Bytes,
    /// The revision at which the key was last created.
    pub create_revision: Revision,
    /// The revision of this version.
    pub mod_revision: Revision,
    /// The place of this change among the changes of its revision, from 0.
    pub sub_revision: u32,
    /// Counts puts since the key was created: 1 on creation; 0 in a tombstone.
    pub version: u64,
    /// The lease that the key hangs on.
    pub lease: LeaseId,
}

impl KeyValue {
    /// What a delete at a revision leaves of a key.
    pub(crate) fn tombstone(key: Bytes, mod_revision: Revision, sub_revision: u32) -> Self {
        Self {
            key,
            mod_revision,
            sub_revision,
            ..Self::default()
        }
    }

    /// Whether this version says that the key is gone.
    pub fn is_tombstone(&self) -> bool {
        self.version == 0
    }

    /// Whether this version made the key, which did not exist before.
    pub fn is_create(&self) -> bool {
        self.version == 1
    }

    /// The same version without its value.
    #[must_use]
    pub fn without_value(&self) -> Self {
        Self {
            value: Bytes::new(),
            ..self.clone()
        }
    }
}
