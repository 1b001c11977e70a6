//! The end of a server, in two steps.

use tokio_util::sync::CancellationToken;

/// First `/readyz` fails, so that balancers look elsewhere; after the delay connections are told to
/// go, watches end, and nothing new is accepted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain {
    /// The server was told to stop.
    pub(crate) stopping: CancellationToken,
    /// The delay is over.
    pub(crate) closing: CancellationToken,
}
