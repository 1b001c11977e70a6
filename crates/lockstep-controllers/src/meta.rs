//! Metadata relevant for deletion and ownership, decoded without the rest of the object.

use serde::Deserialize;
use std::sync::Arc;

/// Keeps an owner until what it owns and what blocks it is gone.
pub const FOREGROUND: &str = "foregroundDeletion";
/// Keeps an owner until nothing names it as one.
pub const ORPHAN: &str = "orphan";

/// The part of the metadata that loops look at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Meta {
    /// The revision that left the object.
    pub revision: u64,
    /// The identity.
    pub uid: Arc<str>,
    /// True if `deletionTimestamp` is set.
    pub is_deleting: bool,
    /// The finalizers.
    pub finalizers: Vec<Box<str>>,
    /// The owner references.
    pub owners: Vec<Owner>,
}

/// An owner as a dependent names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Group and version.
    pub api_version: Box<str>,
    /// The kind.
    pub kind: Box<str>,
    /// The name.
    pub name: Box<str>,
    /// The identity, which is what counts.
    pub uid: Arc<str>,
    /// `blockOwnerDeletion`.
    pub is_blocking: bool,
}

impl Meta {
    /// Decodes stored bytes; none if they are not an object.
    pub fn read(bytes: &[u8], revision: u64) -> Option<Self> {
        let wire: Wire = serde_json::from_slice(bytes).ok()?;
        let metadata = wire.metadata;
        let owners = metadata.owner_references.unwrap_or_default();
        Some(Self {
            revision,
            uid: metadata.uid.unwrap_or_default().into(),
            is_deleting: metadata.deletion_timestamp.is_some(),
            finalizers: metadata.finalizers.unwrap_or_default(),
            owners: owners.into_iter().map(Owner::from).collect(),
        })
    }

    /// True if a finalizer is present.
    pub fn is_held_by(&self, finalizer: &str) -> bool {
        self.finalizers.iter().any(|held| **held == *finalizer)
    }

    /// True for an owner in foreground deletion that waits for its dependents.
    pub fn waits_for_dependents(&self) -> bool {
        self.is_deleting && self.is_held_by(FOREGROUND)
    }
}

#[derive(Deserialize)]
struct Wire {
    #[serde(default)]
    metadata: WireMetadata,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct WireMetadata {
    uid: Option<String>,
    deletion_timestamp: Option<String>,
    finalizers: Option<Vec<Box<str>>>,
    owner_references: Option<Vec<WireOwner>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireOwner {
    #[serde(default)]
    api_version: Box<str>,
    #[serde(default)]
    kind: Box<str>,
    #[serde(default)]
    name: Box<str>,
    #[serde(default)]
    uid: String,
    block_owner_deletion: Option<bool>,
}

impl From<WireOwner> for Owner {
    fn from(wire: WireOwner) -> Self {
        Self {
            api_version: wire.api_version,
            kind: wire.kind,
            name: wire.name,
            uid: wire.uid.into(),
            is_blocking: wire.block_owner_deletion == Some(true),
        }
    }
}
