//! HTTP responses: complete bodies, and streams that end at shutdown.

use std::any::Any;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{HeaderName, StatusCode};
use http_body::{Body, Frame, SizeHint};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::whole::Whole;

/// HTTP response of a handler.
pub type Response = http::Response<ResponseBody>;

/// Boxed body of a streamed response.
pub type Stream = Pin<Box<dyn Body<Data = Bytes, Error = io::Error> + Send>>;

/// Body of a response.
pub enum ResponseBody {
    /// Complete body.
    Whole(Whole),
    /// Streamed body.
    Stream(StreamBody),
}

/// Stream, with guards that are dropped at its end.
pub struct StreamBody {
    stream: Option<Stream>,
    stop: CancellationToken,
    stopped: Pin<Box<WaitForCancellationFutureOwned>>,
    held: Vec<Box<dyn Any + Send>>,
}

impl ResponseBody {
    /// Stream that ends by itself or when `stop` is cancelled.
    pub fn stream(stream: Stream, stop: CancellationToken) -> Self {
        Self::Stream(StreamBody {
            stream: Some(stream),
            stopped: Box::pin(stop.clone().cancelled_owned()),
            stop,
            held: Vec::new(),
        })
    }

    /// Drops `guard` at the end of the response.
    pub(crate) fn hold(&mut self, guard: impl Any + Send) {
        if let ResponseBody::Stream(stream) = self {
            stream.held.push(Box::new(guard));
        }
    }

    /// Bytes of a complete body; none for a stream.
    pub fn whole(&self) -> Option<&Whole> {
        match self {
            ResponseBody::Whole(bytes) => Some(bytes),
            ResponseBody::Stream(_) => None,
        }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.get_mut() {
            ResponseBody::Whole(whole) => {
                Poll::Ready(whole.take().map(|piece| Ok(Frame::data(piece))))
            }
            ResponseBody::Stream(body) => body.poll(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ResponseBody::Whole(bytes) => bytes.is_empty(),
            ResponseBody::Stream(body) => body.stream.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ResponseBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ResponseBody::Stream(_) => SizeHint::default(),
        }
    }
}

impl StreamBody {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(stream) = &mut self.stream else {
            return Poll::Ready(None);
        };
        let mut polled = if self.stop.is_cancelled() {
            Poll::Ready(None)
        } else {
            stream.as_mut().poll_frame(context)
        };
        // Registering for cancellation is more expensive than the check above, so it is done only if the stream is
        // pending.
        if polled.is_pending() && self.stopped.as_mut().poll(context).is_ready() {
            polled = Poll::Ready(None);
        }
        if matches!(polled, Poll::Ready(None)) {
            self.stream = None;
            self.held.clear();
        }
        polled
    }
}

/// Plain-text response.
pub fn text(status: StatusCode, text: impl Into<String>) -> Response {
    let mut response = bytes(status, "text/plain; charset=utf-8", text.into());
    let headers = response.headers_mut();
    headers.insert(
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
    response
}

/// Response with a media type.
pub fn bytes(status: StatusCode, media_type: &str, body: impl Into<Whole>) -> Response {
    let mut response = http::Response::new(ResponseBody::Whole(body.into()));
    *response.status_mut() = status;
    let media_type = HeaderValue::from_str(media_type);
    let media_type = media_type.expect("media types are names of ours");
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// 404 with upstream's text for unknown paths.
pub(crate) fn page_not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}
