//! Closed-loop load generator.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::{Call, Connection};

/// Stop condition.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Elapsed(Duration),
    /// After so many requests of all of them together.
    Done(u64),
}

/// Result of a load.
pub(crate) struct Outcome {
    pub(crate) requests: u64,
    pub(crate) elapsed: Duration,
    /// Latency of each request, unordered.
    latencies: Vec<Duration>,
}

impl Outcome {
    pub(crate) fn rate(&self) -> f64 {
        as_float(self.requests) / self.elapsed.as_secs_f64()
    }

    /// Median latency in microseconds.
    pub(crate) fn median_micros(&mut self) -> f64 {
        let middle = self.latencies.len() / 2;
        let (_, median, _) = self.latencies.select_nth_unstable(middle);
        median.as_secs_f64() * 1e6
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub(crate) fn as_float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Runs `clients` clients over the connections; `call` creates the nth request.
pub(crate) async fn run(
    connections: &[Connection],
    clients: usize,
    until: Until,
    call: impl Fn(u64) -> Call + Clone + Send + 'static,
) -> anyhow::Result<Outcome> {
    let next = Arc::new(AtomicU64::new(0));
    let start = now();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let mut handle = connections[client % connections.len()].handle();
        let (next, call) = (next.clone(), call.clone());
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                let before = now();
                let is_over = match until {
                    Until::Elapsed(duration) => before.duration_since(start) >= duration,
                    Until::Done(count) => nth >= count,
                };
                if is_over {
                    return anyhow::Ok(latencies);
                }
                handle.call(call(nth)).await?;
                latencies.push(before.elapsed());
            }
        });
    }
    let mut latencies = Vec::new();
    while let Some(done) = tasks.join_next().await {
        latencies.append(&mut done??);
    }
    anyhow::ensure!(
        !latencies.is_empty(),
        "the turn was too short for one request"
    );
    Ok(Outcome {
        requests: latencies.len() as u64,
        elapsed: start.elapsed(),
        latencies,
    })
}
