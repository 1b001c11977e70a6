//! Graceful shutdown in two steps.

use tokio_util::sync::CancellationToken;

/// First `/readyz` fails, so that load balancers stop routing here. After the delay, connections receive `GOAWAY` or
/// `Connection: close`, watches end, and the listener closes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Drain {
    /// Shutdown was requested.
    pub(crate) stopping: CancellationToken,
    /// The shutdown delay has passed.
    pub(crate) closing: CancellationToken,
}
