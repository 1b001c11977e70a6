//! One connection to a webhook, used by one call at a time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

use super::hangup::UntilHangup;

type Driver = http1::Connection<TokioIo<UntilHangup<TlsStream<TcpStream>>>, Full<Bytes>>;

/// A connection. Nothing moves on it but while it is used, so nothing has to run beside the calls.
pub(super) struct Connection {
    sender: http1::SendRequest<Full<Bytes>>,
    driver: Pin<Box<Driver>>,
    is_over: bool,
    /// When it was last used.
    pub(super) used: Instant,
}

/// A request that brought no answer.
pub(super) enum Failure {
    /// Nothing of it was sent, so it can go another way.
    Unsent(Box<Request<Full<Bytes>>>),
    /// The other side may have seen it.
    Failed(hyper::Error),
}

impl Connection {
    pub(super) async fn open(stream: TlsStream<TcpStream>) -> hyper::Result<Self> {
        let (sender, driver) = http1::handshake(TokioIo::new(UntilHangup(stream))).await?;
        Ok(Self {
            sender,
            driver: Box::pin(driver),
            is_over: false,
            used: Instant::now(),
        })
    }

    /// Sends a request and waits for the head of the answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let sending = self.sender.try_send_request(request);
        let sent = drive(&mut self.driver, &mut self.is_over, sending).await;
        sent.map_err(|mut error| match error.take_message() {
            Some(request) => Failure::Unsent(Box::new(request)),
            None => Failure::Failed(error.into_error()),
        })
    }

    /// Lets the connection work for somebody who reads from it.
    pub(super) async fn during<F: Future>(&mut self, work: F) -> F::Output {
        drive(&mut self.driver, &mut self.is_over, work).await
    }

    /// Whether another request can be sent, as far as this side has heard.
    pub(super) async fn is_open(&mut self) -> bool {
        let looked = poll_fn(|context| Poll::Ready(self.driver.as_mut().poll(context)));
        if !self.is_over && looked.await.is_ready() {
            self.is_over = true;
        }
        !self.is_over && self.sender.is_ready()
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
