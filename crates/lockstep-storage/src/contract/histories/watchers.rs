//! Watchers that start, stop, resume, and write down what they are told.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use lockstep_mvcc::{Filters, KeyRange, Previous, Revision, WatchSelector};
use tokio::sync::watch::Receiver;

use super::clients::{all_keys, key};
use super::{Dice, Ticks, Watched};
use crate::contract::subject::patient;
use crate::{Store, Watch, WatchError, WatchMessage, WatchRequest};

/// Follows the store until `end` tells the last revision and everything up to it was delivered.
pub(super) async fn follow(
    store: Arc<dyn Store>,
    ticks: Ticks,
    mut dice: Dice,
    start: Revision,
    end: Receiver<Option<Revision>>,
) -> Vec<Watched> {
    let mut all = Vec::new();
    let mut selector = choose(&mut dice);
    let mut from = if dice.once_in(2) {
        None
    } else {
        Some(start.next())
    };
    loop {
        let request = WatchRequest {
            selector: selector.clone(),
            from,
        };
        let watch = patient(store.watch(request)).await;
        let mut watch = watch.expect("a watch can be made");
        let mut watched = Watched {
            selector: selector.clone(),
            from: from.unwrap_or(watch.started_at().next()),
            messages: Vec::new(),
        };
        let stay = 1 + dice.below(40);
        let stopped = read(&mut watch, &mut watched, &ticks, stay, end.clone()).await;
        let progress = watched.progress();
        all.push(watched);
        match stopped {
            Stopped::AtTheEnd => return all,
            Stopped::Enough => from = Some(progress.next()),
            Stopped::Compacted(compacted) => from = Some(compacted),
        }
        if dice.once_in(3) {
            selector = choose(&mut dice);
        }
    }
}

/// Why reading stopped.
enum Stopped {
    AtTheEnd,
    /// It goes on elsewhere.
    Enough,
    Compacted(Revision),
}

fn choose(dice: &mut Dice) -> WatchSelector {
    let keys = if dice.once_in(2) {
        all_keys()
    } else {
        KeyRange::single(key(dice.below(3)))
    };
    WatchSelector {
        keys,
        filters: Filters {
            no_put: dice.once_in(5),
            no_delete: dice.once_in(5),
        },
        previous: if dice.once_in(2) {
            Previous::Return
        } else {
            Previous::Omit
        },
    }
}

impl Watched {
    /// Everything up to this revision was delivered.
    pub(super) fn progress(&self) -> Revision {
        let told = self.messages.iter().map(|(_, message)| match message {
            WatchMessage::Events { progress, .. } | WatchMessage::Progress { progress } => {
                *progress
            }
        });
        told.max().unwrap_or(self.from.previous())
    }
}

async fn read(
    watch: &mut Watch,
    watched: &mut Watched,
    ticks: &Ticks,
    stay: u64,
    mut end: Receiver<Option<Revision>>,
) -> Stopped {
    let mut last = None;
    loop {
        if last.is_some_and(|last| watched.progress() >= last) {
            return Stopped::AtTheEnd;
        }
        if last.is_none() && watched.messages.len() as u64 >= stay {
            return Stopped::Enough;
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
                let end = end.expect("the end is told before its teller goes");
                Err(end.expect("it was waited for"))
            })
        });
        let next = if last.is_some() {
            patient(next).await
        } else {
            next.await
        };
        match next {
            Ok(Ok(message)) => watched.messages.push((ticks.next(), message)),
            Ok(Err(WatchError::Compacted { compacted })) => return Stopped::Compacted(compacted),
            // The store may come back; nothing that it told before has to be told again.
            Ok(Err(WatchError::Unavailable(_))) => return Stopped::Enough,
            Err(end) => {
                last = Some(end);
                watch.request_progress();
            }
        }
    }
}
