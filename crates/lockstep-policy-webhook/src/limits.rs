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
/// Objects in one page of a list request to a cluster.
pub const LIST_PAGE: u32 = 500;
/// Most objects of one collection of a cluster.
pub const OBJECTS_MAX: usize = 100_000;
/// Largest page of a list.
pub const LIST_BYTES_MAX: usize = 64 << 20;
/// Largest event of a watch.
pub const EVENT_BYTES_MAX: usize = 8 << 20;
/// Longest time for the head of a response of a cluster, and for a page of a list.
pub const REQUEST_MAX: Duration = Duration::from_secs(30);
/// Seconds after which a watch is begun again.
pub const WATCH_SECONDS: u32 = 300;
/// First pause after a failure.
pub const RETRY_MIN: Duration = Duration::from_secs(1);
/// Longest pause after a failure, and pause before a collection that is not served is looked for again.
pub const RETRY_MAX: Duration = Duration::from_secs(30);
/// Changes of a cluster that wait.
pub const CHANGES_MAX: usize = 256;
/// Time in which changes of a cluster are gathered into one new set of policies.
pub const SETTLE: Duration = Duration::from_millis(200);
