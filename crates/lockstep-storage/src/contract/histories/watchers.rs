//! Watchers that start, stop and resume at random, and record their messages.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use lockstep_mvcc::{Filters, KeyRange, Previous, Revision, WatchSelector};
use tokio::sync::watch::Receiver;

use super::clients::{all_keys, key};
use super::{RecordedWatch, Rng, Ticks};
use crate::contract::subject::within_timeout;
use crate::{Store, Watch, WatchError, WatchMessage, WatchRequest};

/// Watches the store until `end` announces the last revision and everything up to it was delivered.
pub(super) async fn follow(
    store: Arc<dyn Store>,
    ticks: Ticks,
    mut rng: Rng,
    start: Revision,
    end: Receiver<Option<Revision>>,
) -> Vec<RecordedWatch> {
    let mut all = Vec::new();
    let mut selector = choose(&mut rng);
    let mut from = if rng.one_in(2) {
        None
    } else {
        Some(start.next())
    };
    loop {
        let request = WatchRequest {
            selector: selector.clone(),
            from,
        };
        let watch = within_timeout(store.watch(request)).await;
        let mut watch = watch.expect("a watch can be made");
        let mut watched = RecordedWatch {
            selector: selector.clone(),
            from: from.unwrap_or(watch.started_at().next()),
            messages: Vec::new(),
        };
        let stay = 1 + rng.below(40);
        let stopped = read(&mut watch, &mut watched, &ticks, stay, end.clone()).await;
        let progress = watched.progress();
        all.push(watched);
        match stopped {
            Stopped::Finished => return all,
            Stopped::Resume => from = Some(progress.next()),
            Stopped::Compacted(compacted) => from = Some(compacted),
        }
        if rng.one_in(3) {
            selector = choose(&mut rng);
        }
    }
}

/// The reason to leave a watch.
enum Stopped {
    Finished,
    /// The watch is resumed with another one.
    Resume,
    Compacted(Revision),
}

fn choose(rng: &mut Rng) -> WatchSelector {
    let keys = if rng.one_in(2) {
        all_keys()
    } else {
        KeyRange::single(key(rng.below(3)))
    };
    WatchSelector {
        keys,
        filters: Filters {
            no_put: rng.one_in(5),
            no_delete: rng.one_in(5),
        },
        previous: if rng.one_in(2) {
            Previous::Return
        } else {
            Previous::Omit
        },
    }
}

impl RecordedWatch {
    /// The newest revision reported as delivered.
    pub(super) fn progress(&self) -> Revision {
        let reported = self.messages.iter().map(|(_, message)| match message {
            WatchMessage::Events { progress, .. } | WatchMessage::Progress { progress } => {
                *progress
            }
        });
        reported.max().unwrap_or(self.from.previous())
    }
}

async fn read(
    watch: &mut Watch,
    watched: &mut RecordedWatch,
    ticks: &Ticks,
    stay: u64,
    mut end: Receiver<Option<Revision>>,
) -> Stopped {
    let mut last = None;
    loop {
        if last.is_some_and(|last| watched.progress() >= last) {
            return Stopped::Finished;
        }
        if last.is_none() && watched.messages.len() as u64 >= stay {
            return Stopped::Resume;
        }
        let mut ended = pin!(end.wait_for(Option::is_some));
        let next = std::future::poll_fn(|cx| {
            if let Poll::Ready(message) = watch.poll_next(cx) {
                return Poll::Ready(Ok(message));
            }
            if last.is_some() {
                return Poll::Pending;
            }
            ended.as_mut().poll(cx).map(|end| {
                let end = end.expect("the end is sent before the sender is dropped");
                Err(end.expect("it was waited for"))
            })
        });
        let next = if last.is_some() {
            within_timeout(next).await
        } else {
            next.await
        };
        match next {
            Ok(Ok(message)) => watched.messages.push((ticks.next(), message)),
            Ok(Err(WatchError::Compacted { compacted })) => return Stopped::Compacted(compacted),
            // The store may have crashed; resume the watch after the last progress.
            Ok(Err(WatchError::Unavailable(_))) => return Stopped::Resume,
            Err(end) => {
                last = Some(end);
                watch.request_progress();
            }
        }
    }
}
