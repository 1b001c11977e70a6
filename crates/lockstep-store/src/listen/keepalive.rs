//! Enforcement of the keepalive policy: closes connections of clients that ping too often.
//!
//! The HTTP/2 library answers pings without reporting them, so this wrapper parses incoming frames. It also parses
//! outgoing frames: sent data resets the strikes, and `GOAWAY` must be written between two frames.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use super::pings::Pings;

/// A connection with ping enforcement.
pub(super) struct EnforcedKeepalive<T> {
    connection: T,
    /// `None` if any ping rate is allowed.
    pings: Option<Pings>,
}

impl<T> EnforcedKeepalive<T> {
    /// `interval_min` is the minimum interval of pings; zero disables enforcement.
    pub(super) fn new(connection: T, interval_min: Duration) -> Self {
        let pings = (!interval_min.is_zero()).then(|| Pings::new(interval_min));
        Self { connection, pings }
    }
}

/// Sends `GOAWAY` without waiting for the client, then closes the connection.
fn end(connection: &mut (impl AsyncWrite + Unpin), pings: &Pings, cx: &mut Context<'_>) {
    let mut connection = Pin::new(connection);
    if let Some(go_away) = pings.go_away()
        && let Poll::Ready(Ok(_)) = connection.as_mut().poll_write(cx, &go_away)
        && let Poll::Ready(Ok(())) = connection.as_mut().poll_flush(cx)
    {
        drop(connection.poll_shutdown(cx));
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncRead for EnforcedKeepalive<T> {
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

impl<T: AsyncWrite + Unpin> AsyncWrite for EnforcedKeepalive<T> {
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
