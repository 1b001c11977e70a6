//! Clients that ask too often whether the server is there.
//!
//! etcd's rules: a ping may come when [`Pings::interval_min`] has passed since the last one, or two
//! hours if no call is open; what comes earlier is a strike, and the third strike ends the connection.
//! Whenever the server has sent headers or data, the count begins anew. The first ping is free.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::frames::{ACK, DATA, END_STREAM, Frames, GO_AWAY, HEADERS, Head, PING, RST_STREAM};

/// How long a client without a call has to wait between pings.
const IDLE_INTERVAL_MIN: Duration = Duration::from_secs(2 * 60 * 60);
/// How many strikes are forgiven.
const STRIKES_MAX: u32 = 2;
/// HTTP/2's code for a client that does too much.
const ENHANCE_YOUR_CALM: u32 = 11;
/// What gRPC's clients know the reason by.
const REASON: &[u8] = b"too_many_pings";

/// The pings of one connection.
pub(super) struct Pings {
    /// How long a client with a call has to wait between pings.
    interval_min: Duration,
    received: Frames,
    sent: Frames,
    /// The streams that are open.
    open: BTreeSet<u32>,
    /// The newest stream that the client opened.
    newest: u32,
    last: Option<Instant>,
    strikes: u32,
    /// Whether something was sent since the last ping.
    is_reset: bool,
}

impl Pings {
    /// No ping yet.
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

    /// Looks at what the client has sent; whether it has sent too many pings.
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

    /// Looks at what the server has sent.
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

    /// The frame that tells the client why the connection ends; none in the middle of another
    /// frame.
    pub(super) fn goodbye(&self) -> Option<Vec<u8>> {
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
