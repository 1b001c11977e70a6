//! Limits of the server. Those that flags set are fields of [`Limits`]; the rest are constants.

use std::time::Duration;

/// Largest request body.
pub const BODY_BYTES_MAX: usize = 3 << 20;
/// Most bytes of an unread body that are drained so that the connection can be reused.
pub(crate) const BODY_DRAIN_BYTES_MAX: usize = 64 << 20;
/// Longest time for draining a body.
pub(crate) const BODY_DRAIN_MAX: Duration = Duration::from_secs(10);
/// Total size of the headers of a request.
pub(crate) const HEADER_BYTES_MAX: u32 = 1 << 20;
/// Most headers in a request.
pub(crate) const HEADERS_MAX: usize = 256;
/// Timeout for receiving request headers, and idle timeout of HTTP/1 connections.
pub(crate) const HEADER_READ_MAX: Duration = Duration::from_secs(32);
/// Timeout of the TLS handshake.
pub(crate) const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Time after which a connection is closed if its client reads nothing.
pub(crate) const WRITE_STALL_MAX: Duration = Duration::from_secs(60);
/// Most open connections; further ones wait to be accepted.
pub(crate) const CONNECTIONS_MAX: usize = 16_384;
/// Pause after a failed accept, for example when file descriptors run out.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Interval of HTTP/2 pings on an idle connection.
pub(crate) const PING_INTERVAL: Duration = Duration::from_secs(30);
/// Timeout of an HTTP/2 ping.
pub(crate) const PING_MAX: Duration = Duration::from_secs(15);
/// Most HTTP/2 streams of a connection that may be reset before they are accepted.
pub(crate) const RESET_STREAMS_MAX: usize = 64;
/// Send buffer of one HTTP/2 stream: with one chunk of a watch beyond it, the most that a client leaves unread there.
pub(crate) const STREAM_SEND_BYTES_MAX: usize = 64 << 10;
/// Flow-control window of one HTTP/2 stream.
pub(crate) const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// Flow-control window of one HTTP/2 connection.
pub(crate) const CONNECTION_WINDOW_BYTES: u32 = 1 << 20;
/// Longest time a request waits for a slot at the in-flight limit.
pub(crate) const QUEUE_WAIT_MAX: Duration = Duration::from_secs(1);
/// Default time between compactions of the store, as upstream's.
pub const COMPACTION_INTERVAL: Duration = Duration::from_secs(5 * 60);
/// Request bodies that the server holds at once, in all. A body counts from before its first byte is read until its
/// request is answered.
pub(crate) const BODIES_BYTES_MAX: usize = 256 << 20;
/// Request bodies that the server holds at once for one user, or for all service accounts of a namespace.
pub(crate) const USER_BODIES_BYTES_MAX: usize = 64 << 20;
/// Request bodies that the server holds at once for one connection.
pub(crate) const CONNECTION_BODIES_BYTES_MAX: usize = 16 << 20;
/// Size of a request body, or of the stored object that a request changes or shows in part, above which the request is
/// served as heavy work.
pub(crate) const HEAVY_BYTES: usize = 64 << 10;
/// Size of the stored objects above which a list that parses them is served as heavy work.
pub(crate) const HEAVY_LIST_BYTES: usize = 1 << 20;
/// Number of objects above which a list is served as heavy work.
pub(crate) const HEAVY_OBJECTS: usize = 500;
/// Timeout of the health check of the store.
pub(crate) const STORE_CHECK_MAX: Duration = Duration::from_secs(2);
/// Longest time that running requests may take after shutdown begins.
pub(crate) const DRAIN_MAX: Duration = Duration::from_secs(60);
/// Interval at which certificate and token files are checked for changes.
pub const RELOAD_INTERVAL: Duration = Duration::from_secs(10);

/// Limits that flags set.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Concurrent read-only requests; 0 means no limit.
    pub requests_inflight_max: usize,
    /// Concurrent mutating requests; 0 means no limit.
    pub mutating_requests_inflight_max: usize,
    /// True if requests are queued by the stored priority levels. Their seats are the sum of the two limits above; without
    /// them, each limit counts alone.
    pub priority_and_fairness: bool,
    /// Timeout of requests other than watches.
    pub request_timeout: Duration,
    /// Time between the shutdown signal, when `/readyz` begins to fail, and the end of the listener.
    pub shutdown_delay: Duration,
    /// Concurrent streams of one HTTP/2 connection.
    pub http2_streams_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            requests_inflight_max: 400,
            mutating_requests_inflight_max: 200,
            priority_and_fairness: true,
            request_timeout: Duration::from_secs(60),
            shutdown_delay: Duration::ZERO,
            http2_streams_max: 1000,
        }
    }
}
