//! Everything the server bounds, in one place. Those that a flag changes are fields of
//! [`Limits`]; the rest are constants.

use std::time::Duration;

/// The largest body of a request.
pub const BODY_BYTES_MAX: usize = 3 << 20;
/// How much of a body that nobody wants is read so that the connection can be used again.
pub(crate) const BODY_DRAIN_BYTES_MAX: usize = 64 << 20;
/// How long that may take.
pub(crate) const BODY_DRAIN_MAX: Duration = Duration::from_secs(10);
/// All headers of a request together.
pub(crate) const HEADER_BYTES_MAX: u32 = 1 << 20;
/// How many headers a request has.
pub(crate) const HEADERS_MAX: usize = 256;
/// How long a client may take for the head of a request, and an idle HTTP/1 connection stays open.
pub(crate) const HEADER_READ_MAX: Duration = Duration::from_secs(32);
/// How long a client may take for a TLS handshake.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// How long a client may take nothing of what is written to it.
pub(crate) const WRITE_STALL_MAX: Duration = Duration::from_secs(60);
/// How many connections are open at once; more wait to be accepted.
pub(crate) const CONNECTIONS_MAX: usize = 16_384;
/// How long to wait after the system refused a connection, as when files run out.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// How often a silent HTTP/2 client is asked whether it is there.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(30);
/// How long it may take to say so.
pub(crate) const PING_MAX: Duration = Duration::from_secs(15);
/// How many streams of one connection may be reset before they were looked at.
pub(crate) const RESET_STREAMS_MAX: usize = 64;
/// How much of an HTTP/2 answer waits in the server for one stream.
pub(crate) const STREAM_SEND_BYTES_MAX: usize = 256 << 10;
/// What a client may send on one stream before the server has read it.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// What a client may send on one connection before the server has read it.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// How long a request waits for its turn when too many are in flight.
pub(crate) const QUEUE_WAIT_MAX: Duration = Duration::from_secs(1);
/// How many large answers are rewritten at once, into YAML or gzip.
pub(crate) const REWRITES_MAX: usize = 4;
/// How long a health check of the store may take.
pub(crate) const STORE_CHECK_MAX: Duration = Duration::from_secs(2);
/// How long running requests may take after the server was told to stop.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(60);
/// How often files with certificates and tokens are looked at.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// What flags change.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests that read, at once; 0 means no limit.
    pub requests_inflight_max: usize,
    /// Requests that write, at once; 0 means no limit.
    pub mutating_requests_inflight_max: usize,
    /// How long a request may take that is not a watch.
    pub request_timeout: Duration,
    /// How long the server goes on after it was told to stop, with `/readyz` failing.
    pub shutdown_delay: Duration,
    /// How many streams one HTTP/2 connection carries at once.
    pub http2_streams_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_inflight_max: 400,
            mutating_requests_inflight_max: 200,
            request_timeout: Duration::from_secs(60),
            shutdown_delay: Duration::ZERO,
            http2_streams_max: 1000,
        }
    }
}
