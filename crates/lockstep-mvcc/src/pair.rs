//! A version of a key.

use bytes::Bytes;

use crate::{LeaseId, Revision};

/// One version of a key, as created by a put or a delete.
///
/// The machine shares each immutable version with its readers. A delete creates a *tombstone*: key and
/// `mod_revision`, all other fields zero or empty, which is also its form in delete events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KeyValue {
    /// The key.
    pub key: Bytes,
    /// The value; empty in a tombstone and in keys-only reads.
    pub value: Bytes,
    /// The revision at which the key was last created.
    pub create_revision: Revision,
    /// The revision of this version.
    pub mod_revision: Revision,
    /// Position of the change within its revision, from 0.
    pub sub_revision: u32,
    /// Number of puts since the key was created: 1 on creation, 0 in a tombstone.
    pub version: u64,
    /// The lease the key is attached to.
    pub lease: LeaseId,
}

impl KeyValue {
    /// The version that a delete creates.
    pub(crate) fn tombstone(key: Bytes, mod_revision: Revision, sub_revision: u32) -> Self {
        Self {
            key,
            mod_revision,
            sub_revision,
            ..Self::default()
        }
    }

    /// True if the version is a delete.
    pub fn is_tombstone(&self) -> bool {
        self.version == 0
    }

    /// True if the version created the key.
    pub fn is_create(&self) -> bool {
        self.version == 1
    }

    /// A copy without the value, for keys-only reads.
    #[must_use]
    pub fn without_value(&self) -> Self {
        Self {
            value: Bytes::new(),
            ..self.clone()
        }
    }
}
