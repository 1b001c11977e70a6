//! A connection that ends when its client pings too often.
//!
//! The HTTP/2 library answers pings and tells nobody about them, so they are seen on their way in.
//! What the server sends is looked at too: for what it forgives, and to say goodbye between two frames.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::pings::Pings;

/// A connection whose pings are counted.
pub(super) struct Calm<T> {
    connection: T,
    /// None if clients may ping as often as they like.
    pings: Option<Pings>,
}

impl<T> Calm<T> {
    /// `interval_min` is how long a client has to wait between pings; zero does not count them.
    pub(super) fn new(connection: T, interval_min: Duration) -> Self {
        let pings = (!interval_min.is_zero()).then(|| Pings::new(interval_min));
        Self { connection, pings }
    }
}

/// Says goodbye as far as the client takes it at once. The connection ends in any case.
fn end(connection: &mut (impl AsyncWrite + Unpin), pings: &Pings, cx: &mut Context<'_>) {
    let mut connection = Pin::new(connection);
    if let Some(goodbye) = pings.goodbye()
        && let Poll::Ready(Ok(_)) = connection.as_mut().poll_write(cx, &goodbye)
        && let Poll::Ready(Ok(())) = connection.as_mut().poll_flush(cx)
    {
        drop(connection.poll_shutdown(cx));
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for Calm<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { connection, pings } = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut *connection).poll_read(cx, buffer))?;
        if let Some(pings) = pings
            && pings.received(&buffer.filled()[before..], Instant::now())
        {
            end(connection, pings, cx);
            let reason = "got too many pings from the client";
            return Poll::Ready(Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                reason,
            )));
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Calm<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let Self { connection, pings } = self.get_mut();
        let written = ready!(Pin::new(connection).poll_write_vectored(cx, slices))?;
        if let Some(pings) = pings {
            let mut left = written;
            for slice in slices {
                let taken = slice.len().min(left);
                pings.sent(&slice[..taken]);
                left -= taken;
            }
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.connection.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_shutdown(cx)
    }
}
