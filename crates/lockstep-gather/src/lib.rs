//! Write coalescing for connections.
//!
//! HTTP/2 writes frame by frame and flushes often; on a TLS connection each flush is a record and a system call.
//! Here a flush is deferred: the driver of the connection ([`Driven`]) sends all buffered data once the connection
//! is idle. No timer is involved, so a single small write is sent at once.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Buffered bytes that trigger a send.
const GATHERED_BYTES_MAX: usize = 64 << 10;
/// Writes of this size bypass the buffer: copying them would cost more than a system call.
const LARGE_BYTES: usize = 16 << 10;
/// Buffer capacity kept by an idle connection.
const IDLE_BYTES_MAX: usize = 4 << 10;

/// The side that the protocol reads and writes.
pub struct Gather<S>(Arc<Mutex<Gathered<S>>>);

/// The side that sends.
pub struct Outgoing<S>(Arc<Mutex<Gathered<S>>>);

struct Gathered<S> {
    stream: S,
    waiting: Vec<u8>,
    /// Bytes of the buffer already written to the stream.
    taken: usize,
    /// True if the stream may hold unflushed data.
    is_held: bool,
}

/// Splits a stream into its two sides.
pub fn gather<S>(stream: S) -> (Gather<S>, Outgoing<S>) {
    let gathered = Arc::new(Mutex::new(Gathered {
        stream,
        waiting: Vec::new(),
        taken: 0,
        is_held: false,
    }));
    (Gather(Arc::clone(&gathered)), Outgoing(gathered))
}

impl<S: AsyncWrite + Unpin> Gathered<S> {
    /// Buffers as much as fits, sending the buffer first if it is full.
    fn put(
        &mut self,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let is_large = parts.iter().map(|part| part.len()).sum::<usize>() >= LARGE_BYTES;
        if is_large || self.waiting.len() >= GATHERED_BYTES_MAX {
            ready!(self.pass_on(context))?;
        }
        if is_large {
            let stream = Pin::new(&mut self.stream);
            let written = ready!(stream.poll_write_vectored(context, parts))?;
            self.is_held = true;
            return Poll::Ready(Ok(written));
        }
        let before = self.waiting.len();
        for part in parts {
            let room = GATHERED_BYTES_MAX - self.waiting.len();
            self.waiting
                .extend_from_slice(&part[..part.len().min(room)]);
        }
        Poll::Ready(Ok(self.waiting.len() - before))
    }

    /// Writes the whole buffer to the stream.
    fn pass_on(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.taken < self.waiting.len() {
            let rest = &self.waiting[self.taken..];
            let written = ready!(Pin::new(&mut self.stream).poll_write(context, rest))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.taken += written;
            self.is_held = true;
        }
        self.taken = 0;
        self.waiting.clear();
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.pass_on(context))?;
        if self.is_held {
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
            self.is_held = false;
        }
        self.waiting.shrink_to(IDLE_BYTES_MAX);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> Outgoing<S> {
    /// Sends all buffered data and flushes the stream.
    fn poll_send(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.lock().send(context)
    }

    fn has_some(&self) -> bool {
        let gathered = self.0.lock();
        !gathered.waiting.is_empty()
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Gather<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().put(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.lock().put(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Returns at once: the driver sends when the connection is idle.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathered = self.0.lock();
        ready!(gathered.send(context))?;
        Pin::new(&mut gathered.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Gather<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().stream).poll_read(context, buffer)
    }
}

/// A connection driven together with sending its buffered data.
pub struct Driven<'c, C, S> {
    connection: Pin<&'c mut C>,
    outgoing: &'c Outgoing<S>,
    /// True if other tasks may still write to the connection.
    is_shared: &'c (dyn Fn() -> bool + Sync),
    has_waited: bool,
}

/// Error that ended a connection.
#[derive(Debug, thiserror::Error)]
pub enum Ended<E> {
    /// A protocol error.
    #[error(transparent)]
    Protocol(E),
    /// A write error.
    #[error(transparent)]
    Send(io::Error),
}

impl<'c, C, S> Driven<'c, C, S> {
    /// `is_shared` returns true while several responses are written to the connection; the driver then yields once,
    /// so that ready tasks can add to the buffer before it is sent.
    pub fn new(
        connection: Pin<&'c mut C>,
        outgoing: &'c Outgoing<S>,
        is_shared: &'c (dyn Fn() -> bool + Sync),
    ) -> Self {
        Self {
            connection,
            outgoing,
            is_shared,
            has_waited: false,
        }
    }
}

impl<C, S, E> Future for Driven<'_, C, S>
where
    C: Future<Output = Result<(), E>>,
    S: AsyncWrite + Unpin,
{
    type Output = Result<(), Ended<E>>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let driven = self.get_mut();
        if let Poll::Ready(ended) = driven.connection.as_mut().poll(context) {
            // Send the last data as far as the peer accepts it.
            drop(driven.outgoing.poll_send(context));
            return Poll::Ready(ended.map_err(Ended::Protocol));
        }
        if !driven.has_waited && driven.outgoing.has_some() && (driven.is_shared)() {
            driven.has_waited = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        driven.has_waited = false;
        match driven.outgoing.poll_send(context) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(Ended::Send(error))),
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests;
