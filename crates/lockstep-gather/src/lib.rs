//! What a connection writes, gathered so that it leaves in few pieces.
//!
//! HTTP/2 writes frame by frame and flushes often; each flush of an encrypted connection is a
//! record and a call of the system. Here a flush is only noted. Whoever drives the connection sends
//! everything at once when the connection has nothing more to do ([`Driven`]). Nothing waits for a
//! clock: what is alone leaves at once.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How much is gathered before it is sent.
const GATHERED_BYTES_MAX: usize = 64 << 10;
/// What is as large as this leaves as it is: to copy it would cost more than another call.
const LARGE_BYTES: usize = 16 << 10;
/// What an idle connection keeps of the memory it gathered in.
const IDLE_BYTES_MAX: usize = 4 << 10;

/// The side that the protocol reads and writes.
pub struct Gather<S>(Arc<Mutex<Gathered<S>>>);

/// The side that sends.
pub struct Outgoing<S>(Arc<Mutex<Gathered<S>>>);

struct Gathered<S> {
    stream: S,
    waiting: Vec<u8>,
    /// How much of it the stream has taken.
    taken: usize,
    /// Whether the stream has taken something that it may still hold.
    is_held: bool,
}

/// Both sides of a stream.
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
    /// Takes as much as there is room for, after making room if there is none.
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

    /// Gives everything to the stream.
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
    /// Sends what was gathered, until nothing is left.
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

    /// Done at once: the driver sends when the connection rests.
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

/// A connection together with the sending of what it writes.
pub struct Driven<'c, C, S> {
    connection: Pin<&'c mut C>,
    outgoing: &'c Outgoing<S>,
    /// Whether others that have something for this connection may write first.
    is_shared: &'c (dyn Fn() -> bool + Sync),
    has_waited: bool,
}

/// How a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum Ended<E> {
    /// The protocol says so.
    #[error(transparent)]
    Protocol(E),
    /// Nothing can be sent any more.
    #[error(transparent)]
    Send(io::Error),
}

impl<'c, C, S> Driven<'c, C, S> {
    /// `is_shared` tells whether several answers are being written on the connection; then those
    /// whose turn it is already may add to what is sent.
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
            // A last word, as far as the client takes it.
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
