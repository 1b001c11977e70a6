//! Lightweight gRPC client: one HTTP/2 connection and pre-encoded requests.

use anyhow::Context;
use bytes::{BufMut, Bytes, BytesMut};
use http::{Request, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// Large enough that flow control never blocks the server.
const WINDOW_BYTES: u32 = 64 << 20;

/// Length of the gRPC message prefix: compression flag and length.
const PREFIX_BYTES: usize = 5;

/// A connection to a server.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    _talking: JoinSet<()>,
}

/// A prepared request.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) path: &'static str,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn new(path: &'static str, message: &impl Message) -> Self {
        Self::of_many(path, std::slice::from_ref(message))
    }

    /// Several messages of a stream that ends with them.
    pub(crate) fn of_many(path: &'static str, messages: &[impl Message]) -> Self {
        let mut body = BytesMut::new();
        for message in messages {
            let length = u32::try_from(message.encoded_len()).expect("requests are small");
            body.put_u8(0);
            body.put_u32(length);
            message.encode(&mut body).expect("a buffer grows");
        }
        Self {
            path,
            body: body.freeze(),
        }
    }
}

impl Connection {
    pub(crate) async fn open(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await?;
        stream.set_nodelay(true)?;
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let (sender, connection) = builder
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .handshake(TokioIo::new(stream))
            .await?;
        let mut talking = JoinSet::new();
        talking.spawn(async move {
            // Requests fail with the connection and report its error.
            drop(connection.await);
        });
        Ok(Self {
            sender,
            authority: format!("127.0.0.1:{port}"),
            _talking: talking,
        })
    }

    /// Connects several times.
    pub(crate) async fn open_many(port: u16, count: usize) -> anyhow::Result<Vec<Self>> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(Self::open(port).await?);
        }
        Ok(connections)
    }

    /// A handle to send requests.
    pub(crate) fn handle(&self) -> Handle {
        Handle {
            sender: self.sender.clone(),
            authority: self.authority.clone(),
        }
    }
}

/// One client of a connection.
#[derive(Clone)]
pub(crate) struct Handle {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
}

impl Handle {
    /// Sends a request and returns the stream of its answer.
    pub(crate) async fn stream(&mut self, call: Call) -> anyhow::Result<Messages> {
        let request = Request::post(format!("http://{}{}", self.authority, call.path))
            .header(header::CONTENT_TYPE, "application/grpc")
            .header(header::TE, "trailers")
            .body(Full::new(call.body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        check(response.headers())?;
        Ok(Messages {
            body: response.into_body(),
            buffer: BytesMut::new(),
        })
    }

    /// Sends a request and returns the bytes of its answer.
    pub(crate) async fn call(&mut self, call: Call) -> anyhow::Result<Bytes> {
        let mut messages = self.stream(call).await?;
        let answer = messages.next().await?.context("there is no answer")?;
        anyhow::ensure!(messages.next().await?.is_none(), "there are two answers");
        Ok(answer)
    }
}

/// The messages of an answer.
pub(crate) struct Messages {
    body: Incoming,
    buffer: BytesMut,
}

impl Messages {
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Bytes>> {
        loop {
            if let Some(message) = self.take() {
                return Ok(Some(message));
            }
            let Some(frame) = self.body.frame().await else {
                return Ok(None);
            };
            match frame?.into_data() {
                Ok(data) => self.buffer.extend_from_slice(&data),
                Err(frame) => check(frame.trailers_ref().context("neither data nor trailers")?)?,
            }
        }
    }

    fn take(&mut self) -> Option<Bytes> {
        let length = self.buffer.get(1..PREFIX_BYTES)?.try_into().ok()?;
        let end = PREFIX_BYTES + usize::try_from(u32::from_be_bytes(length)).ok()?;
        if self.buffer.len() < end {
            return None;
        }
        let message = self.buffer.split_to(end).freeze();
        Some(message.slice(PREFIX_BYTES..))
    }
}

fn check(headers: &http::HeaderMap) -> anyhow::Result<()> {
    match headers
        .get("grpc-status")
        .map(header::HeaderValue::as_bytes)
    {
        None | Some(b"0") => Ok(()),
        Some(_) => anyhow::bail!("the server refused: {headers:?}"),
    }
}
