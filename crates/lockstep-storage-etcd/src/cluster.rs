//! Endpoint selection, failover and retries.
//!
//! All requests go to one member until it fails, then to the next endpoint. An unreachable member is dialed again
//! after an exponential backoff, and only when its turn comes. A single member in use keeps serializable reads
//! monotonic and needs one connection instead of one for each member.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use lockstep_storage::{Revision, Unavailable};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::Response;

use crate::call_error::{CallError, MemberFailure, RetryElsewhere, unavailable};
use crate::connection::{Connection, DialError};
use crate::options::{Address, Options, OptionsError, Timeouts, TlsFiles, addresses};

/// Initial dial backoff.
const BACKOFF_MIN: Duration = Duration::from_millis(100);
/// Maximum dial backoff.
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// Whether a request is idempotent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Idempotency {
    Idempotent,
    /// Sent again only if it is known not to have arrived.
    NotIdempotent,
}

pub(crate) struct Cluster {
    endpoints: Vec<Endpoint>,
    tls: Option<TlsFiles>,
    timeouts: Timeouts,
    /// Index of the endpoint in use.
    current: AtomicUsize,
    /// Cluster id of the first member reached. Endpoints of two clusters would be two stores.
    id: OnceLock<u64>,
    /// The newest revision returned to any caller.
    seen: AtomicU64,
}

struct Endpoint {
    address: Address,
    /// Held while dialing, so that concurrent requests dial once.
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    failures: u32,
    failed: Option<(Instant, String)>,
}

impl Cluster {
    /// Creates a client without connecting.
    pub(crate) fn new(options: Options) -> Result<Self, OptionsError> {
        let endpoint = |address| Endpoint {
            address,
            slot: Mutex::default(),
        };
        let endpoints = addresses(&options)?.into_iter().map(endpoint).collect();
        Ok(Self {
            endpoints,
            tls: options.tls,
            timeouts: options.timeouts,
            current: AtomicUsize::default(),
            id: OnceLock::new(),
            seen: AtomicU64::default(),
        })
    }

    pub(crate) fn tls(&self) -> Option<&TlsFiles> {
        self.tls.as_ref()
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// Number of endpoints.
    pub(crate) fn members(&self) -> usize {
        self.endpoints.len()
    }

    /// The newest revision returned to any caller.
    pub(crate) fn seen(&self) -> Revision {
        Revision(self.seen.load(Ordering::Acquire))
    }

    /// Records a revision that is returned to a caller.
    pub(crate) fn see(&self, revision: Revision) {
        self.seen.fetch_max(revision.0, Ordering::AcqRel);
    }

    /// A connection to the member in use, or to the next reachable one. Fails at once while all of them are in
    /// backoff.
    pub(crate) async fn connection(&self) -> Result<Connection, Unavailable> {
        let first = self.current.load(Ordering::Acquire);
        let mut reasons = Vec::new();
        for nth in 0..self.endpoints.len() {
            let place = (first + nth) % self.endpoints.len();
            match self.connection_to(place).await {
                Ok(connection) if nth == 0 => return Ok(connection),
                Ok(connection) => {
                    self.current.store(place, Ordering::Release);
                    return Ok(connection);
                }
                Err(reason) => reasons.push(reason),
            }
        }
        Err(unavailable(reasons.join("; ")))
    }

    async fn connection_to(&self, place: usize) -> Result<Connection, String> {
        let endpoint = &self.endpoints[place];
        let mut slot = endpoint.slot.lock().await;
        if let Some(connection) = slot.connection.as_ref().filter(|used| !used.is_closed()) {
            return Ok(connection.clone());
        }
        slot.connection = None;
        if let Some((at, reason)) = &slot.failed
            && at.elapsed() < pause(slot.failures)
        {
            return Err(reason.clone());
        }
        match self.dial(place).await {
            Ok(connection) => {
                *slot = Slot {
                    connection: Some(connection.clone()),
                    ..Slot::default()
                };
                Ok(connection)
            }
            Err(error) => {
                let reason = format!("`{}`: {error}", endpoint.address.url);
                slot.failures = slot.failures.saturating_add(1);
                slot.failed = Some((Instant::now(), reason.clone()));
                Err(reason)
            }
        }
    }

    async fn dial(&self, place: usize) -> Result<Connection, DialError> {
        let limit = self.timeouts.connect;
        let dialed = Connection::dial(place, &self.endpoints[place].address, self.tls.as_ref());
        let dialed = timeout(limit, dialed).await;
        let connection = dialed.map_err(|_| DialError::TimedOut(limit))??;
        let found = connection.member().cluster_id;
        if *self.id.get_or_init(|| found) != found {
            return Err(DialError::OtherCluster);
        }
        Ok(connection)
    }

    /// Switches to the next endpoint, unless another task already did.
    pub(crate) fn leave(&self, connection: &Connection) {
        let place = connection.place();
        let next = (place + 1) % self.endpoints.len();
        // If another task wins the race, the endpoint was switched as well.
        _ = self
            .current
            .compare_exchange(place, next, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Sends a request to the member in use, then to others where that is safe and may help: each once, and the
    /// first idempotency, because its connection may have been stale.
    pub(crate) async fn ask<Answer, Sent, Failure>(
        &self,
        idempotency: Idempotency,
        send: impl Fn(Connection) -> Sent,
    ) -> Result<Answer, CallError>
    where
        Sent: Future<Output = Result<Response<Answer>, Failure>>,
        Failure: Into<MemberFailure>,
    {
        let deadline = Instant::now() + self.timeouts.request;
        let mut reasons = Vec::new();
        for _ in 0..=self.endpoints.len() {
            let connection = match timeout_at(deadline, self.connection()).await {
                Ok(Ok(connection)) => connection,
                Ok(Err(Unavailable { reason })) => {
                    reasons.push(reason);
                    break;
                }
                Err(_) => {
                    reasons.push(format!("no connection within {:?}", self.timeouts.request));
                    break;
                }
            };
            let found = match timeout_at(deadline, send(connection.clone())).await {
                Ok(Ok(answer)) => return Ok(answer.into_inner()),
                Ok(Err(failure)) => CallError::of_failure(failure.into(), connection.url()),
                Err(_) => {
                    self.leave(&connection);
                    let reason = self.no_answer(connection.url());
                    return Err(CallError::Unknown { reason });
                }
            };
            reasons.push(self.judge(found, idempotency, &connection)?);
        }
        // Reached only if the request is idempotent or never arrived.
        Err(CallError::not_done(
            reasons.join("; "),
            RetryElsewhere::MayHelp,
        ))
    }

    /// The reason to retry on another member; or the error, if a retry is useless or unsafe.
    fn judge(
        &self,
        call_error: CallError,
        idempotency: Idempotency,
        connection: &Connection,
    ) -> Result<String, CallError> {
        match call_error {
            CallError::NotDone {
                reason,
                elsewhere: RetryElsewhere::MayHelp,
            } => {
                self.leave(connection);
                Ok(reason)
            }
            CallError::Unknown { reason } => {
                self.leave(connection);
                match idempotency {
                    Idempotency::Idempotent => Ok(reason),
                    Idempotency::NotIdempotent => Err(CallError::Unknown { reason }),
                }
            }
            CallError::Wrong(_) | CallError::Refused(_) | CallError::NotDone { .. } => {
                Err(call_error)
            }
        }
    }

    pub(crate) fn no_answer(&self, url: &str) -> String {
        format!("`{url}`: no answer within {:?}", self.timeouts.request)
    }
}

/// Dial backoff after consecutive failures.
fn pause(failures: u32) -> Duration {
    let doubled = failures.saturating_sub(1).min(10);
    BACKOFF_MAX.min(BACKOFF_MIN * (1 << doubled))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_its_limit() {
        let pauses: Vec<_> = [1, 2, 3, 6, 7, 8, u32::MAX].map(pause).into();
        let millis = [100, 200, 400, 3200, 5000, 5000, 5000].map(Duration::from_millis);
        assert_eq!(pauses, millis);
    }
}
