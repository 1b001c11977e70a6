//! Shutdown signal with its reason.

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Shutdown signal of the server.
#[derive(Default)]
pub(crate) struct Stopping {
    token: CancellationToken,
    reason: Mutex<Option<String>>,
}

impl Stopping {
    /// Shuts down because of a failure. The first reason is kept.
    pub(crate) fn fail(&self, reason: &str) {
        let reason_before = self
            .reason
            .lock()
            .get_or_insert_with(|| reason.to_owned())
            .clone();
        if reason_before == reason && !self.token.is_cancelled() {
            tracing::error!(reason, "the store cannot go on");
        }
        self.token.cancel();
    }

    /// Shuts down gracefully.
    pub(crate) fn stop(&self) {
        self.token.cancel();
    }

    /// The reason of a failure.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}
