//! An HTTP/1.1 connection over TLS, used by one call at a time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

use crate::hangup::UntilHangup;

type Driver = http1::Connection<TokioIo<UntilHangup<TlsStream<TcpStream>>>, Full<Bytes>>;

/// An open connection. It makes progress only while a call polls it, so that no task has to run beside the calls.
pub struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Pin<Box<Driver>>,
    is_over: bool,
    /// Time of its last use.
    pub(crate) used: Instant,
}

/// Errors of a request without a response.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Nothing of the request was sent, so that it can be sent on another connection.
    #[error("{1}")]
    Unsent(Box<Request<Full<Bytes>>>, hyper::Error),
    /// The server may have received the request.
    #[error("{0}")]
    Failed(hyper::Error),
}

impl Connection {
    pub(crate) async fn open(stream: TlsStream<TcpStream>) -> hyper::Result<Self> {
        let (sender, driver) = http1::handshake(TokioIo::new(UntilHangup(stream))).await?;
        Ok(Self {
            sender,
            driver: Box::pin(driver),
            is_over: false,
            used: Instant::now(),
        })
    }

    /// Sends a request and waits for the head of the response, whose body has to be read inside [`Self::during`].
    pub async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let sending = self.sender.try_send_request(request);
        let sent = drive(&mut self.driver, &mut self.is_over, sending).await;
        sent.map_err(|mut error| match error.take_message() {
            Some(request) => Failure::Unsent(Box::new(request), error.into_error()),
            None => Failure::Failed(error.into_error()),
        })
    }

    /// Sends a request and returns a response whose body drives the connection while it is read.
    pub async fn send_streaming(
        mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<ResponseBody>, Failure> {
        let response = self.send(request).await?;
        Ok(response.map(|body| ResponseBody {
            body,
            connection: self,
        }))
    }

    /// Drives the connection until `work`, which reads a response body, is done.
    pub async fn during<F: Future>(&mut self, work: F) -> F::Output {
        drive(&mut self.driver, &mut self.is_over, work).await
    }

    /// True if another request can be sent, as far as is known without sending one.
    pub(crate) async fn is_open(&mut self) -> bool {
        let looked = poll_fn(|context| Poll::Ready(self.driver.as_mut().poll(context)));
        if !self.is_over && looked.await.is_ready() {
            self.is_over = true;
        }
        !self.is_over && self.sender.is_ready()
    }
}

/// A response body together with its connection, which lives as long.
pub struct ResponseBody {
    body: Incoming,
    connection: Connection,
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if frame.is_ready() || self.connection.is_over {
            return frame;
        }
        if self.connection.driver.as_mut().poll(context).is_ready() {
            self.connection.is_over = true;
        }
        // The driver may just have handed a frame to the body.
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn drive<F: Future>(driver: &mut Pin<Box<Driver>>, is_over: &mut bool, work: F) -> F::Output {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ended = driver.as_mut(), if !*is_over => *is_over = true,
        }
    }
}
