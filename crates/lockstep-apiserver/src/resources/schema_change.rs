//! The end of what clients were told a resource is.

use std::sync::OnceLock;

use lockstep_storage::Revision;
use tokio_util::sync::CancellationToken;

use super::Served;

/// Whether a resource is still what clients were told it is, and since when not.
#[derive(Debug, Default)]
pub struct SchemaChange {
    at: OnceLock<Revision>,
    ended: CancellationToken,
}

impl SchemaChange {
    /// It is so no longer, from a revision on. Only the first end counts.
    pub fn end(&self, at: Revision) {
        let _first = self.at.set(at);
        self.ended.cancel();
    }

    /// When the end was; none if it is still so.
    pub fn at(&self) -> Option<Revision> {
        self.at.get().copied()
    }

    /// Waits for the end, and says when it was.
    pub async fn ended(&self) -> Revision {
        self.ended.cancelled().await;
        *self.at.get().expect("an end is dated before it is told")
    }
}

impl Served {
    /// When the resource was no longer what a client was told it is; none if it still is.
    pub(super) fn end(&self) -> Option<Revision> {
        self.resource.strategy.schema_change()?.at()
    }

    /// Done when the resource is no longer what a client was told it is, with when that was.
    pub(super) async fn ended(&self) -> Revision {
        match self.resource.strategy.schema_change() {
            Some(schema_change) => schema_change.ended().await,
            None => std::future::pending().await,
        }
    }
}
