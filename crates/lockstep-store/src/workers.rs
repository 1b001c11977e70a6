//! Worker threads that serve connections, each with its own runtime.
//!
//! A connection and all its requests stay on one thread, so they never wake another. Long work runs on the blocking
//! pool.

use std::io;
use std::thread::{self, JoinHandle};

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::listen::{Accepted, Connections};

/// Maximum number of workers; more do not help, because the store becomes the bottleneck.
const WORKERS_MAX: usize = 4;
/// Connections queued for a worker.
const ACCEPTED_MAX: usize = 128;

/// The worker threads, stopped on drop.
pub(crate) struct Workers {
    ended: CancellationToken,
    inboxes: Vec<mpsc::Sender<Accepted>>,
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
            let (inbox, accepted_connections) = mpsc::channel(ACCEPTED_MAX);
            let runtime = Builder::new_current_thread().enable_all().build()?;
            let (connections, ended) = (connections.clone(), workers.ended.clone());
            let serve = move || {
                runtime.block_on(
                    ended.run_until_cancelled(serve_accepted(accepted_connections, connections)),
                );
            };
            let thread = thread::Builder::new().name("store-clients".to_owned());
            workers.threads.push(thread.spawn(serve)?);
            workers.inboxes.push(inbox);
        }
        Ok(workers)
    }

    /// A round-robin distributor of connections.
    pub(crate) fn round_robin(&self) -> RoundRobin {
        RoundRobin {
            inboxes: self.inboxes.clone(),
            next: 0,
        }
    }

    /// Stops the workers and joins them.
    pub(crate) async fn end(mut self) {
        self.ended.cancel();
        let threads = std::mem::take(&mut self.threads);
        let joined = tokio::task::spawn_blocking(move || {
            for thread in threads {
                // The panic was already reported by the thread.
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

/// Serves queued connections. Runs until cancelled, because connections outlive the queue.
async fn serve_accepted(
    mut accepted_connections: mpsc::Receiver<Accepted>,
    connections: Connections,
) {
    while let Some(accepted) = accepted_connections.recv().await {
        let serving = connections.clone().serve(accepted);
        connections.tasks.spawn(serving);
    }
    std::future::pending::<()>().await;
}

/// Distributes connections to the workers in turn.
pub(crate) struct RoundRobin {
    inboxes: Vec<mpsc::Sender<Accepted>>,
    next: usize,
}

impl RoundRobin {
    pub(crate) async fn give(&mut self, accepted: Accepted) {
        let inbox = &self.inboxes[self.next];
        self.next = (self.next + 1) % self.inboxes.len();
        // A worker is gone only during shutdown; drop the connection.
        drop(inbox.send(accepted).await);
    }
}
