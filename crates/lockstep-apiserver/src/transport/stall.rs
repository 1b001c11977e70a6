//! Closes connections whose client stops reading.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

use crate::limits::WRITE_STALL_MAX;

/// Fails writes that make no progress for [`WRITE_STALL_MAX`].
pub(super) struct StallGuard<S> {
    stream: S,
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> StallGuard<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            stalled: None,
        }
    }
}

impl<S: AsyncWrite + Unpin> StallGuard<S> {
    fn guard<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let polled = write(Pin::new(&mut self.stream), context);
        if polled.is_ready() {
            self.stalled = None;
            return polled;
        }
        let until = || Box::pin(tokio::time::sleep_until(Instant::now() + WRITE_STALL_MAX));
        let stalled = self.stalled.get_or_insert_with(until);
        ready!(stalled.as_mut().poll(context));
        let text = "the client takes nothing of what is written to it";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for StallGuard<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.get_mut()
            .guard(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().guard(context, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().guard(context, AsyncWrite::poll_shutdown)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().guard(context, |stream, context| {
            stream.poll_write_vectored(context, buffers)
        })
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for StallGuard<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_client_that_never_reads_is_cut_off() {
        let (ours, _theirs) = tokio::io::duplex(16);
        let mut guarded = StallGuard::new(ours);
        let begin = Instant::now();
        let error = guarded.write_all(&[0; 17]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(begin.elapsed().as_secs(), WRITE_STALL_MAX.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_is_served() {
        use tokio::io::AsyncReadExt as _;
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut guarded = StallGuard::new(ours);
        let reader = async {
            let mut got = 0;
            while got < 160 {
                tokio::time::advance(WRITE_STALL_MAX / 2).await;
                got += theirs.read(&mut [0; 16]).await.unwrap();
            }
            got
        };
        let (written, got) = tokio::join!(guarded.write_all(&[0; 160]), reader);
        assert_eq!((written.unwrap(), got), ((), 160));
    }
}
