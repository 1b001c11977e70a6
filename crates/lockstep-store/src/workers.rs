//! Threads that serve connections, each for itself.
//!
//! A connection stays with its thread, and so do all its requests: what they do to each other wakes
//! no other thread. Work that takes long is handed to threads of its own by whoever does it.

use std::io;
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::listen::{Arrival, Connections};

/// The most threads; a store is done sooner than more of them help.
const WORKERS_MAX: usize = 4;
/// How many connections may wait for a thread to take them in.
const ARRIVALS_MAX: usize = 128;

/// The threads. They end, and what they serve with them, when this is dropped.
pub(crate) struct Workers {
    ended: CancellationToken,
    inboxes: Vec<mpsc::Sender<Arrival>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(crate) fn start(connections: &Connections) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let mut workers = Self {
            ended: CancellationToken::new(),
            inboxes: Vec::new(),
            threads: Vec::new(),
        };
        for _ in 0..count.min(WORKERS_MAX) {
            let (inbox, arrivals) = mpsc::channel(ARRIVALS_MAX);
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (connections, ended) = (connections.clone(), workers.ended.clone());
            let serve = move || {
                runtime.block_on(ended.run_until_cancelled(take_in(arrivals, connections)));
            };
            let thread = thread::Builder::new().name("store-clients".to_owned());
            workers.threads.push(thread.spawn(serve)?);
            workers.inboxes.push(inbox);
        }
        Ok(workers)
    }

    /// Somebody who hands connections to all threads in turn.
    pub(crate) fn hand_out(&self) -> HandOut {
        HandOut {
            inboxes: self.inboxes.clone(),
            next: 0,
        }
    }

    /// Ends the threads and waits for them.
    pub(crate) async fn end(mut self) {
        self.ended.cancel();
        let threads = std::mem::take(&mut self.threads);
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                // A thread that panicked has said so itself.
                drop(thread.join());
            }
        });
        drop(joined.await);
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

/// Serves what comes in. Does not end by itself: connections go on when no more come.
async fn take_in(mut arrivals: mpsc::Receiver<Arrival>, connections: Connections) {
    while let Some(arrival) = arrivals.recv().await {
        let serving = connections.clone().serve(arrival);
        connections.tasks.spawn(serving);
    }
    std::future::pending::<()>().await;
}

/// Gives each thread as many connections as the others.
pub(crate) struct HandOut {
    inboxes: Vec<mpsc::Sender<Arrival>>,
    next: usize,
}

impl HandOut {
    pub(crate) async fn give(&mut self, arrival: Arrival) {
        let inbox = &self.inboxes[self.next];
        self.next = (self.next + 1) % self.inboxes.len();
        // A thread is gone only when the server is about to end, and the connection with it.
        drop(inbox.send(arrival).await);
    }
}
