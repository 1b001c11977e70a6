//! Keepalive enforcement policy of etcd.
//!
//! A ping is allowed when [`Pings::interval_min`] has passed since the last one, or two hours without an open
//! stream; an earlier one is a strike, and the third strike closes the connection. Sent headers or data reset the
//! strikes. The first ping is always allowed.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::frames::{ACK, DATA, END_STREAM, Frames, GO_AWAY, HEADERS, Head, PING, RST_STREAM};

/// Minimum ping interval of a client without open streams.
const IDLE_INTERVAL_MIN: Duration = Duration::from_secs(2 * 60 * 60);
/// Tolerated strikes.
const STRIKES_MAX: u32 = 2;
/// HTTP/2 error code `ENHANCE_YOUR_CALM`.
const ENHANCE_YOUR_CALM: u32 = 11;
/// Debug data by which gRPC clients recognise the reason.
const REASON: &[u8] = b"too_many_pings";

/// Ping state of one connection.
pub(super) struct Pings {
    /// Minimum ping interval of a client with open streams.
    interval_min: Duration,
    received: Frames,
    sent: Frames,
    /// Open streams.
    open: BTreeSet<u32>,
    /// The last stream opened by the client.
    newest: u32,
    last: Option<Instant>,
    strikes: u32,
    /// True if headers or data were sent since the last ping.
    is_reset: bool,
}

impl Pings {
    /// State of a new connection.
    pub(super) fn new(interval_min: Duration) -> Self {
        Self {
            interval_min,
            received: Frames::of_client(),
            sent: Frames::of_server(),
            open: BTreeSet::new(),
            newest: 0,
            last: None,
            strikes: 0,
            is_reset: false,
        }
    }

    /// Processes bytes from the client; returns true if it sent too many pings.
    pub(super) fn received(&mut self, bytes: &[u8], now: Instant) -> bool {
        let mut at = 0;
        while let Some(head) = self.received.next(bytes, &mut at) {
            match head {
                Head {
                    kind: PING, flags, ..
                } if flags & ACK == 0 => self.ping(now),
                Head {
                    kind: HEADERS,
                    stream,
                    ..
                } if stream > self.newest => {
                    self.newest = stream;
                    self.open.insert(stream);
                }
                Head {
                    kind: RST_STREAM,
                    stream,
                    ..
                } => {
                    self.open.remove(&stream);
                }
                _ => {}
            }
        }
        self.strikes > STRIKES_MAX
    }

    fn ping(&mut self, now: Instant) {
        let last = self.last.replace(now);
        if std::mem::take(&mut self.is_reset) {
            self.strikes = 0;
            return;
        }
        let wait = if self.open.is_empty() {
            IDLE_INTERVAL_MIN
        } else {
            self.interval_min
        };
        if last.is_some_and(|last| now.saturating_duration_since(last) < wait) {
            self.strikes += 1;
        }
    }

    /// Processes bytes sent by the server.
    pub(super) fn sent(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(head) = self.sent.next(bytes, &mut at) {
            if matches!(head.kind, HEADERS | DATA) {
                self.is_reset = true;
            }
            let is_last = matches!(head.kind, HEADERS | DATA) && head.flags & END_STREAM != 0;
            if is_last || head.kind == RST_STREAM {
                self.open.remove(&head.stream);
            }
        }
    }

    /// `GOAWAY` frame for the client; `None` inside another frame.
    pub(super) fn go_away(&self) -> Option<Vec<u8>> {
        if !self.sent.is_between() {
            return None;
        }
        let length = u8::try_from(8 + REASON.len()).expect("the reason is short");
        let mut frame = vec![0, 0, length, GO_AWAY, 0, 0, 0, 0, 0];
        frame.extend_from_slice(&self.newest.to_be_bytes());
        frame.extend_from_slice(&ENHANCE_YOUR_CALM.to_be_bytes());
        frame.extend_from_slice(REASON);
        Some(frame)
    }
}

#[cfg(test)]
mod tests;
