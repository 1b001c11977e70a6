//! Metrics of gRPC calls.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Response};
use hyper::body::{Body, Frame, SizeHint};
use lockstep_storage_embedded::Histogram;
use tonic::{Code, Status};

use super::Counter;
use crate::methods::{self, METHODS};

/// gRPC status code names, by number.
pub(super) const CODES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

/// Bucket bounds of call durations.
const TIMES_MICROS: &[u64] = &[
    5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000,
];

/// Metrics of all calls, by method.
pub(crate) struct Calls {
    methods: Vec<Counts>,
    pub(super) received_bytes: Counter,
    pub(super) sent_bytes: Counter,
}

/// Metrics of one method.
pub(super) struct Counts {
    pub(super) started: Counter,
    pub(super) handled: [Counter; CODES.len()],
    pub(super) received: Counter,
    pub(super) sent: Counter,
    pub(super) seconds: Histogram,
}

impl Default for Calls {
    fn default() -> Self {
        let counts = || Counts {
            started: Counter::default(),
            handled: Default::default(),
            received: Counter::default(),
            sent: Counter::default(),
            seconds: Histogram::new(TIMES_MICROS),
        };
        Self {
            methods: METHODS.iter().map(|_| counts()).collect(),
            received_bytes: Counter::default(),
            sent_bytes: Counter::default(),
        }
    }
}

impl Calls {
    pub(super) fn methods(&self) -> &[Counts] {
        &self.methods
    }

    /// Starts a call; `None` for an unknown method.
    pub(crate) fn begin(self: &Arc<Self>, path: &str) -> Option<Call> {
        let method = methods::place(path)?;
        self.methods[method].started.add(1);
        Some(Call {
            calls: self.clone(),
            method,
            start: now(),
            // A call that is dropped before its end counts as cancelled.
            code: Code::Cancelled,
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "latencies are only reported in metrics"
)]
fn now() -> Instant {
    Instant::now()
}

/// A call in progress. Its end is counted on drop.
pub(crate) struct Call {
    calls: Arc<Calls>,
    method: usize,
    start: Instant,
    code: Code,
}

impl Call {
    /// Counts the message of a unary request.
    pub(crate) fn received_one(&self, bytes: usize) {
        self.calls.received_bytes.add(bytes as u64);
        self.calls.methods[self.method].received.add(1);
    }

    /// Completes a call with one message.
    pub(crate) fn replies_one(mut self, bytes: usize) {
        self.calls.sent_bytes.add(bytes as u64);
        self.calls.methods[self.method].sent.add(1);
        self.code = Code::Ok;
    }

    /// Completes a call with an error.
    pub(crate) fn refuses(mut self, status: &Status) {
        self.code = status.code();
    }

    /// Wraps a request body to count its messages.
    pub(crate) fn receives<B>(&self, body: B) -> Counted<B> {
        let (calls, method) = (self.calls.clone(), self.method);
        Counted {
            body,
            tally: MessageCounter::default(),
            direction: Direction::In { calls, method },
        }
    }

    /// Wraps a response to count its messages and completion.
    pub(crate) fn sends(
        mut self,
        response: Response<tonic::body::Body>,
    ) -> Response<tonic::body::Body> {
        if let Some(code) = code_of(response.headers()) {
            self.code = code;
            return response;
        }
        response.map(|body| {
            tonic::body::Body::new(Counted {
                body,
                tally: MessageCounter::default(),
                direction: Direction::Out(Some(self)),
            })
        })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let counts = &self.calls.methods[self.method];
        let code = usize::try_from(i32::from(self.code)).unwrap_or_default();
        counts.handled[code].add(1);
        counts.seconds.observe(self.start.elapsed());
    }
}

fn code_of(headers: &HeaderMap) -> Option<Code> {
    let status = headers.get("grpc-status")?;
    Some(Code::from_bytes(status.as_bytes()))
}

/// A body that counts its messages.
pub(crate) struct Counted<B> {
    body: B,
    tally: MessageCounter,
    direction: Direction,
}

enum Direction {
    In {
        calls: Arc<Calls>,
        method: usize,
    },
    /// `None` once the completion was counted.
    Out(Option<Call>),
}

impl Direction {
    fn note(&mut self, frame: &Frame<Bytes>, tally: &mut MessageCounter) {
        if let Some(data) = frame.data_ref() {
            let messages = tally.count(data);
            let bytes = data.len() as u64;
            match self {
                Self::In { calls, method } => {
                    calls.received_bytes.add(bytes);
                    calls.methods[*method].received.add(messages);
                }
                Self::Out(Some(call)) => {
                    call.calls.sent_bytes.add(bytes);
                    call.calls.methods[call.method].sent.add(messages);
                }
                Self::Out(None) => {}
            }
        }
        if let (Self::Out(call), Some(trailers)) = (self, frame.trailers_ref())
            && let Some(mut call) = call.take()
        {
            call.code = code_of(trailers).unwrap_or(Code::Unknown);
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for Counted<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Self {
            body,
            tally,
            direction,
        } = self.get_mut();
        let polled = Pin::new(body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            direction.note(frame, tally);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Finds message boundaries in a byte stream.
#[derive(Default)]
struct MessageCounter {
    /// Received part of the message prefix: a flag, and the length in four bytes.
    prefix: [u8; 5],
    prefix_bytes: usize,
    /// Remaining bytes of the current message.
    rest: usize,
}

impl MessageCounter {
    /// Number of messages that start in these bytes.
    fn count(&mut self, mut bytes: &[u8]) -> u64 {
        let mut messages = 0;
        loop {
            let skipped = self.rest.min(bytes.len());
            self.rest -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return messages;
            }
            let taken = (self.prefix.len() - self.prefix_bytes).min(bytes.len());
            self.prefix[self.prefix_bytes..][..taken].copy_from_slice(&bytes[..taken]);
            self.prefix_bytes += taken;
            bytes = &bytes[taken..];
            if self.prefix_bytes == self.prefix.len() {
                let [_, length @ ..] = self.prefix;
                self.rest = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
                self.prefix_bytes = 0;
                messages += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_wherever_the_bytes_are_cut() {
        let bytes = b"\0\0\0\0\x03abc\0\0\0\0\0\0\0\0\0\x01x";
        for first in 0..bytes.len() {
            for second in first..bytes.len() {
                let mut tally = MessageCounter::default();
                let parts = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                let counted: u64 = parts.iter().map(|part| tally.count(part)).sum();
                assert_eq!(counted, 3, "cut at {first} and {second}");
            }
        }
    }
}
