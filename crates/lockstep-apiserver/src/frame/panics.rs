//! A panic ends one request and no other.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

/// A handler panicked.
#[derive(Debug)]
pub(super) struct Panicked;

/// The future, with a panic as a value. The panic hook of the process has said where it was.
pub(super) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Panicked> {
    let mut future = Box::pin(future);
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
