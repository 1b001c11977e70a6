//! Limits of the webhook.

use std::time::Duration;

/// Largest body of a review.
pub const REVIEW_BYTES_MAX: usize = 3 << 20;
/// Most connections at a time; others wait in the backlog of the socket.
pub const CONNECTIONS_MAX: usize = 512;
/// Most reviews in memory at a time; others wait before their bodies are read.
pub const REVIEWS_MAX: usize = 64;
/// Longest wait for a place among the reviews. API servers give a webhook 10 seconds unless configured otherwise.
pub const WAIT_MAX: Duration = Duration::from_secs(10);
/// Longest time that a client may take to send the body of a review.
pub const BODY_READ_MAX: Duration = Duration::from_secs(10);
/// Longest TLS handshake.
pub const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Longest time that a client may take to send the head of a request.
pub const HEAD_READ_MAX: Duration = Duration::from_secs(10);
/// Largest head of a request.
pub const HEAD_BYTES_MAX: usize = 64 << 10;
/// Most streams of one HTTP/2 connection.
pub const STREAMS_MAX: u32 = 100;
/// Longest time that reviews under way get at shutdown.
pub const DRAIN_MAX: Duration = Duration::from_secs(10);
/// Pause after a failed accept.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
