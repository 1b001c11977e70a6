//! The end of a server: who is told, and why.

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Tells every part of a server that it is about to end.
#[derive(Default)]
pub(crate) struct Stopping {
    token: CancellationToken,
    reason: Mutex<Option<String>>,
}

impl Stopping {
    /// Ends the server because it cannot go on. The first reason is kept.
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

    /// Ends the server in order.
    pub(crate) fn stop(&self) {
        self.token.cancel();
    }

    /// Why the server could not go on, if so.
    pub(crate) fn reason(&self) -> Option<String> {
        self.reason.lock().clone()
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.token
    }
}
