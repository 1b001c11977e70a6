//! Unary methods: decoding of requests and encoding of replies.
//!
//! A request is decoded in place and a reply is encoded into one buffer: for messages of a few hundred bytes,
//! tonic's streaming machinery would cost more than the request.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response, header};
use http_body_util::BodyExt;
use hyper::body::{Frame, SizeHint};
use prost::Message;
use tonic::Status;

use crate::rpc_error::RpcError;

/// Length of the gRPC message prefix: compression flag and length.
const PREFIX_BYTES: usize = 5;

/// Reads the request message.
pub(crate) async fn receive<B>(mut body: B, bytes_max: usize) -> Result<Bytes, Status>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let first = next_data(&mut body).await?;
    if let Some(length) = length_of(&first, bytes_max)?
        && first.len() >= PREFIX_BYTES + length
    {
        return Ok(first.slice(PREFIX_BYTES..PREFIX_BYTES + length));
    }
    let mut received = BytesMut::from(first);
    loop {
        let data = next_data(&mut body).await?;
        received.extend_from_slice(&data);
        if let Some(length) = length_of(&received, bytes_max)?
            && received.len() >= PREFIX_BYTES + length
        {
            let message = received.freeze();
            return Ok(message.slice(PREFIX_BYTES..PREFIX_BYTES + length));
        }
    }
}

async fn next_data<B>(body: &mut B) -> Result<Bytes, Status>
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Status::from_error(error.into()))?;
        if let Ok(data) = frame.into_data() {
            return Ok(data);
        }
    }
    Err(RpcError::NoRequest.into())
}

/// Length of the message, once its prefix is complete.
fn length_of(received: &[u8], bytes_max: usize) -> Result<Option<usize>, RpcError> {
    let Some([compressed, length @ ..]) = received.first_chunk::<PREFIX_BYTES>() else {
        return Ok(None);
    };
    if *compressed != 0 {
        return Err(RpcError::Compressed);
    }
    let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
    if length > bytes_max {
        return Err(RpcError::RequestTooLarge { length, bytes_max });
    }
    Ok(Some(length))
}

/// Decodes a request.
pub(crate) fn decode<M: Message + Default>(message: Bytes) -> Result<M, RpcError> {
    Ok(M::decode(message)?)
}

/// Encodes a message with its prefix.
pub(crate) fn encode(message: &impl Message) -> Result<Bytes, RpcError> {
    let length = message.encoded_len();
    let Ok(length) = u32::try_from(length) else {
        return Err(RpcError::ResponseTooLarge(length));
    };
    let mut bytes = BytesMut::with_capacity(PREFIX_BYTES + message.encoded_len());
    bytes.put_u8(0);
    bytes.put_u32(length);
    message.encode(&mut bytes)?;
    Ok(bytes.freeze())
}

/// Response with an encoded message.
pub(crate) fn reply(message: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::One(OneMessage {
        message: Some(message),
        is_over: false,
    }));
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(header::CONTENT_TYPE, grpc);
    response
}

/// Body of a response.
pub(crate) enum Body {
    /// One message.
    One(OneMessage),
    /// Any other body.
    Many(tonic::body::Body),
}

impl Body {
    /// Boxes the body for tonic.
    pub(crate) fn into_boxed(self) -> tonic::body::Body {
        match self {
            Self::One(body) => tonic::body::Body::new(body),
            Self::Many(body) => body,
        }
    }
}

impl From<tonic::body::Body> for Body {
    fn from(body: tonic::body::Body) -> Self {
        Self::Many(body)
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        match self.get_mut() {
            Self::One(body) => Pin::new(body).poll_frame(cx),
            Self::Many(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::One(body) => body.is_end_stream(),
            Self::Many(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::One(body) => body.size_hint(),
            Self::Many(body) => body.size_hint(),
        }
    }
}

/// A single message with trailers for success.
pub(crate) struct OneMessage {
    message: Option<Bytes>,
    is_over: bool,
}

impl hyper::body::Body for OneMessage {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let body = self.get_mut();
        if let Some(message) = body.message.take() {
            return Poll::Ready(Some(Ok(Frame::data(message))));
        }
        if std::mem::replace(&mut body.is_over, true) {
            return Poll::Ready(None);
        }
        let mut trailers = HeaderMap::with_capacity(1);
        trailers.insert("grpc-status", HeaderValue::from_static("0"));
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::StreamBody;

    use super::*;

    const BYTES_MAX: usize = 10;

    async fn received(parts: &[&'static [u8]]) -> Result<Bytes, (tonic::Code, String)> {
        let frames: Vec<_> = parts
            .iter()
            .map(|part| Ok::<_, Infallible>(Frame::data(Bytes::from_static(part))))
            .collect();
        let body = StreamBody::new(tokio_stream::iter(frames));
        let received = receive(body, BYTES_MAX).await;
        received.map_err(|status| (status.code(), status.message().to_owned()))
    }

    #[tokio::test]
    async fn a_message_is_read_wherever_its_bytes_are_cut() {
        let whole: &'static [u8] = b"\0\0\0\0\x03abc";
        for first in 0..=whole.len() {
            for second in first..=whole.len() {
                let parts = [&whole[..first], &whole[first..second], &whole[second..]];
                let expected = Ok(Bytes::from_static(b"abc"));
                assert_eq!(received(&parts).await, expected, "{first} {second}");
            }
        }
        assert_eq!(received(&[b"\0\0\0\0\0"]).await, Ok(Bytes::new()));
    }

    #[tokio::test]
    async fn messages_that_cannot_be_taken_are_refused() {
        // etcd-api.md §1/receive-size: what is above it is refused before it is read.
        use tonic::Code;
        let too_large = "grpc: received message larger than max (11 vs. 10)".to_owned();
        assert_eq!(
            received(&[b"\0\0\0\0\x0b"]).await,
            Err((Code::ResourceExhausted, too_large))
        );
        let compressed = "grpc: Decompressor is not installed for the encoding of the message";
        assert_eq!(
            received(&[b"\x01\0\0\0\x03abc"]).await,
            Err((Code::Unimplemented, compressed.to_owned()))
        );
        let missing = "Missing request message.".to_owned();
        assert_eq!(
            received(&[b"\0\0\0\0\x03ab"]).await,
            Err((Code::Internal, missing))
        );
    }
}
