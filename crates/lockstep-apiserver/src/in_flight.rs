//! Limits of concurrent requests, read-only and mutating, for a server without priority and fairness.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::{Limits, QUEUE_WAIT_MAX};
use crate::request::Request;

/// Slot of a request in flight, released on drop.
#[derive(Debug)]
pub(crate) struct Slot {
    _permit: Option<OwnedSemaphorePermit>,
}

/// Separate limits for read-only and mutating requests, so that slow writes do not block reads.
#[derive(Debug)]
pub(crate) struct InFlight {
    read_only: Lane,
    mutating: Lane,
}

#[derive(Debug)]
struct Lane {
    places: Option<Arc<Semaphore>>,
    waiting: AtomicUsize,
    waiting_max: usize,
}

impl InFlight {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            read_only: Lane::new(limits.requests_inflight_max),
            mutating: Lane::new(limits.mutating_requests_inflight_max),
        }
    }

    /// Waits briefly for a slot. None if the server is overloaded, which is answered with 429.
    pub(crate) async fn enter(&self, request: &Request) -> Option<Slot> {
        if is_exempt(request) {
            return Some(Slot { _permit: None });
        }
        let lane = if request.info.is_read_only() {
            &self.read_only
        } else {
            &self.mutating
        };
        lane.enter().await
    }
}

impl Lane {
    fn new(places: usize) -> Self {
        let places = places.min(Semaphore::MAX_PERMITS);
        Self {
            places: (places > 0).then(|| Arc::new(Semaphore::new(places))),
            waiting: AtomicUsize::new(0),
            waiting_max: places,
        }
    }

    async fn enter(&self) -> Option<Slot> {
        let Some(places) = &self.places else {
            return Some(Slot { _permit: None });
        };
        if let Ok(permit) = Arc::clone(places).try_acquire_owned() {
            return Some(Slot {
                _permit: Some(permit),
            });
        }
        let _waiting = Waiting::join(self)?;
        let permit = Arc::clone(places).acquire_owned();
        let permit = tokio::time::timeout(QUEUE_WAIT_MAX, permit).await;
        let permit = permit.ok()?.ok()?;
        Some(Slot {
            _permit: Some(permit),
        })
    }
}

/// Slot in the queue, released also when the wait is cancelled.
struct Waiting<'a>(&'a Lane);

impl<'a> Waiting<'a> {
    fn join(lane: &'a Lane) -> Option<Self> {
        let before = lane.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(lane);
        (before < lane.waiting_max).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// True for requests exempt from the limits: health checks, and leases of `system:masters`, so that leaders can renew.
fn is_exempt(request: &Request) -> bool {
    match &request.info.resource {
        None => {
            let first = request.info.path.split('/').nth(1).unwrap_or_default();
            matches!(first, "healthz" | "livez" | "readyz")
        }
        Some(resource) => {
            (&*resource.group, &*resource.resource) == lockstep_catalog::LEASES
                && request.user.is_in("system:masters")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_full_lane_waits_shortly_and_then_refuses() {
        let lane = Lane::new(1);
        let first = lane.enter().await.unwrap();
        assert!(lane.enter().await.is_none());
        let (second, ()) = tokio::join!(lane.enter(), async { drop(first) });
        assert!(second.is_some());
        assert_eq!(lane.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_as_long_as_the_lane_is_wide() {
        let lane = Lane::new(1);
        let _first = lane.enter().await.unwrap();
        let begin = tokio::time::Instant::now();
        let (second, third) = tokio::join!(lane.enter(), async {
            let third = lane.enter().await;
            (third.is_none(), begin.elapsed().is_zero())
        });
        assert!(second.is_none());
        assert_eq!(third, (true, true));
    }

    #[tokio::test]
    async fn zero_means_no_limit() {
        let lane = Lane::new(0);
        let turns = [lane.enter().await, lane.enter().await, lane.enter().await];
        assert!(turns.iter().all(Option::is_some));
    }
}
