//! The members of the cluster: which one is used, and what happens when it fails.
//!
//! All requests go to one member until it fails: then to the next in the list, at once. A member
//! that could not be reached is tried again after a pause that doubles with each failure, and only
//! when its turn comes. Staying with one member keeps reads from jumping between states, and costs
//! one connection instead of one for each member.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use lockstep_storage::{Revision, Unavailable};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::{Response, Status};

use crate::connection::{Connection, DialError};
use crate::options::{Address, Options, OptionsError, Timeouts, TlsFiles, addresses};
use crate::verdict::{Elsewhere, Verdict, unavailable};

/// How long a member is left alone after it could not be reached once.
const PAUSE_MIN: Duration = Duration::from_millis(100);
/// How long at most.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Whether a request does harm when it is carried out twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Twice {
    Harmless,
    /// It is sent again only if it is known not to have arrived.
    Harmful,
}

pub(crate) struct Cluster {
    endpoints: Vec<Endpoint>,
    tls: Option<TlsFiles>,
    timeouts: Timeouts,
    /// The place of the member in use.
    current: AtomicUsize,
    /// The cluster that was found first. A list that names two clusters would be two stores.
    id: OnceLock<u64>,
    /// The newest revision that was shown to anybody.
    seen: AtomicU64,
}

struct Endpoint {
    address: Address,
    /// Held while dialing, so that many waiting requests dial once.
    slot: Mutex<Slot>,
}

#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    failures: u32,
    failed: Option<(Instant, String)>,
}

impl Cluster {
    /// Does not connect.
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

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.timeouts
    }

    /// How many members are known.
    pub(crate) fn members(&self) -> usize {
        self.endpoints.len()
    }

    /// The newest revision that was shown.
    pub(crate) fn seen(&self) -> Revision {
        Revision(self.seen.load(Ordering::Acquire))
    }

    /// Notes that a revision is shown.
    pub(crate) fn see(&self, revision: Revision) {
        self.seen.fetch_max(revision.0, Ordering::AcqRel);
    }

    /// A connection to the member in use, or to the next one that can be reached. Fails at once
    /// while all of them are known to be away.
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

    /// Turns to the next member, unless somebody did so already.
    pub(crate) fn leave(&self, connection: &Connection) {
        let place = connection.place();
        let next = (place + 1) % self.endpoints.len();
        // Whoever loses the race finds that the member was left, which is what it wanted.
        _ = self
            .current
            .compare_exchange(place, next, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Asks the member in use, and others where that is safe and may help: each once, and the
    /// first a second time, since its connection may have been outdated.
    pub(crate) async fn ask<Answer, Sent>(
        &self,
        twice: Twice,
        send: impl Fn(Connection) -> Sent,
    ) -> Result<Answer, Verdict>
    where
        Sent: Future<Output = Result<Response<Answer>, Status>>,
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
                Ok(Err(status)) => Verdict::of(&status, connection.url()),
                Err(_) => {
                    self.leave(&connection);
                    let reason = self.no_answer(connection.url());
                    return Err(Verdict::Unknown { reason });
                }
            };
            reasons.push(self.judge(found, twice, &connection)?);
        }
        // Everything that may have happened is harmless.
        Err(Verdict::not_done(reasons.join("; "), Elsewhere::MayHelp))
    }

    /// The reason to ask again, elsewhere; or the verdict, if that is no use or not safe.
    fn judge(
        &self,
        verdict: Verdict,
        twice: Twice,
        connection: &Connection,
    ) -> Result<String, Verdict> {
        match verdict {
            Verdict::NotDone {
                reason,
                elsewhere: Elsewhere::MayHelp,
            } => {
                self.leave(connection);
                Ok(reason)
            }
            Verdict::Unknown { reason } => {
                self.leave(connection);
                match twice {
                    Twice::Harmless => Ok(reason),
                    Twice::Harmful => Err(Verdict::Unknown { reason }),
                }
            }
            Verdict::Wrong(_) | Verdict::Refused(_) | Verdict::NotDone { .. } => Err(verdict),
        }
    }

    pub(crate) fn no_answer(&self, url: &str) -> String {
        format!("`{url}`: no answer within {:?}", self.timeouts.request)
    }
}

/// How long to leave a member alone after so many failures in a row.
fn pause(failures: u32) -> Duration {
    let doubled = failures.saturating_sub(1).min(10);
    PAUSE_MAX.min(PAUSE_MIN * (1 << doubled))
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
