//! Isolation of panics: a panic fails one request, not the server.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

/// A handler panicked.
#[derive(Debug)]
pub(super) struct Panicked;

/// Awaits a future and returns a panic as an error. The panic hook of the process has logged its location.
///
/// The future is boxed because it is large and would be moved several times before it runs.
pub(super) async fn caught<T>(
    mut future: Pin<Box<impl Future<Output = T>>>,
) -> Result<T, Panicked> {
    std::future::poll_fn(move |context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(_) => Poll::Ready(Err(Panicked)),
        }
    })
    .await
}
