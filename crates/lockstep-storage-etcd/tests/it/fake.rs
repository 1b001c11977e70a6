//! Fake servers that speak etcd's protocol.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Request, Response};
use hyper::body::{Body, Frame, Incoming};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use lockstep_etcd_api::etcdserverpb::{ResponseHeader, StatusResponse};
use prost::Message;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Response to a call.
pub(crate) enum Answer {
    /// A message.
    Message(Bytes),
    /// A code and a text.
    EtcdError(u8, &'static str),
}

impl Answer {
    pub(crate) fn message(message: &impl Message) -> Self {
        Self::Message(message.encode_to_vec().into())
    }

    /// A status response.
    pub(crate) fn status(version: &str, is_learner: bool) -> Self {
        Self::message(&StatusResponse {
            header: Some(ResponseHeader::default()),
            version: version.to_owned(),
            is_learner,
            ..StatusResponse::default()
        })
    }
}

/// A server that answers each call by the name of its method. Must be used inside a runtime.
pub(crate) struct Fake {
    url: String,
    _server: JoinSet<()>,
}

impl Fake {
    pub(crate) async fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(answer);
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let answer = answer.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let method = request.uri().path().rsplit('/').next().unwrap().to_owned();
                    let answered = respond(answer(&method));
                    async move { Ok::<_, Infallible>(answered) }
                });
                let connection = http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service);
                // A client may close its connection at any time.
                connections.spawn(async move { drop(connection.await) });
            }
        });
        Self {
            url,
            _server: server,
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

fn respond(answer: Answer) -> Response<Frames> {
    let (data, code, text) = match answer {
        Answer::Message(message) => (Some(framed(&message)), 0, ""),
        Answer::EtcdError(code, text) => (None, code, text),
    };
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(u16::from(code)));
    trailers.insert("grpc-message", HeaderValue::from_static(text));
    let frames = data.map(Frame::data).into_iter();
    let frames = frames.chain([Frame::trailers(trailers)]).collect();
    Response::builder()
        .header("content-type", "application/grpc")
        .body(Frames(frames))
        .unwrap()
}

/// A gRPC message with its prefix.
fn framed(message: &Bytes) -> Bytes {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(u32::try_from(message.len()).unwrap());
    framed.put_slice(message);
    framed.freeze()
}

struct Frames(VecDeque<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}
