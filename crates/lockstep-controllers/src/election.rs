//! Leader election: the server that holds a lease runs the controllers.
//!
//! As in client-go, clocks are never compared between servers: a candidate considers a lease expired once its own clock
//! shows that the lease was not renewed for the lease duration.

use lockstep_object::metadata::Micros;
use lockstep_object::{Object, Value};
use serde_json::json;

use crate::Stored;

/// The lease.
pub const LEASE_NAME: &str = "lockstep-controllers";
/// Lease duration.
pub const LEASE_SECONDS: u64 = 15;
/// Time after which a leader that could not renew its lease gives up.
pub const RENEW_DEADLINE_MS: u64 = 10_000;
/// Interval of renewals.
pub const RENEW_MS: u64 = 2_000;

/// One candidate's view of the election. Times are milliseconds of a monotonic clock.
pub struct Election {
    me: String,
    /// Last observed revision of the lease, and when it was first observed.
    seen: Option<(u64, u64)>,
}

/// Next step of a candidate.
#[derive(Clone, PartialEq, Debug)]
pub enum ElectionStep {
    /// Writes the lease, with the observed revision as precondition; none means that no lease exists.
    Write {
        /// The revision.
        revision: Option<u64>,
        /// The lease.
        lease: Object,
    },
    /// Wait for the lease to change, but not beyond this time.
    Wait {
        /// The time.
        until: u64,
    },
}

impl Election {
    /// Creates a candidate. The identity is the server's unique name, an underscore, and a suffix that differs between
    /// restarts.
    pub fn new(me: String) -> Self {
        Self { me, seen: None }
    }

    /// Decides the next step, given the stored lease.
    pub fn campaign(&mut self, stored: Option<&Stored>, now: u64, wall: Micros) -> ElectionStep {
        let Some(Stored { object, revision }) = stored else {
            return self.write(None, wall);
        };
        let is_news = self.seen.is_none_or(|(seen, _)| seen != *revision);
        let since = match self.seen {
            Some((_, since)) if !is_news => since,
            _ => now,
        };
        self.seen = Some((*revision, since));
        let holder = holder(object);
        let until = since.saturating_add(duration_ms(object));
        if holder.is_empty() || server(holder) == server(&self.me) || now >= until {
            self.write(stored, wall)
        } else {
            ElectionStep::Wait { until }
        }
    }

    /// True if this candidate holds the lease.
    pub fn is_held(&self, stored: Option<&Stored>) -> bool {
        stored.is_some_and(|stored| holder(&stored.object) == self.me)
    }

    /// The lease renewed by its holder.
    pub fn renew(&self, stored: &Stored, wall: Micros) -> Object {
        let mut lease = stored.object.clone();
        let spec = lease.fields_mut().entry("spec").or_insert(Value::Null);
        if !spec.is_object() {
            *spec = json!({});
        }
        spec["renewTime"] = wall.to_string().into();
        lease
    }

    /// The lease without a holder, so that other candidates need not wait for its expiry.
    pub fn release(&self, stored: &Stored, wall: Micros) -> Object {
        let mut lease = self.renew(stored, wall);
        if let Some(spec) = lease.fields_mut().get_mut("spec") {
            spec["holderIdentity"] = "".into();
            spec["leaseDurationSeconds"] = 1.into();
        }
        lease
    }

    fn write(&self, stored: Option<&Stored>, wall: Micros) -> ElectionStep {
        let before = stored.map(|stored| &stored.object);
        let transitions = before.map_or(0, |lease| {
            let count = lease.at(&["spec", "leaseTransitions"]);
            let count = count.and_then(Value::as_i64).unwrap_or_default();
            count.saturating_add(i64::from(holder(lease) != self.me))
        });
        let mut lease = before.cloned().unwrap_or_else(|| {
            crate::made(json!({
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": { "name": LEASE_NAME, "namespace": crate::servers::NAMESPACE },
            }))
        });
        let spec = json!({
            "acquireTime": wall.to_string(),
            "holderIdentity": self.me,
            "leaseDurationSeconds": LEASE_SECONDS,
            "leaseTransitions": transitions,
            "renewTime": wall.to_string(),
        });
        lease.fields_mut().insert("spec".to_owned(), spec);
        ElectionStep::Write {
            revision: stored.map(|stored| stored.revision),
            lease,
        }
    }
}

/// The server of a holder. Who held the lease as the same server is dead.
fn server(holder: &str) -> &str {
    holder.rsplit_once('_').map_or(holder, |(server, _)| server)
}

fn holder(lease: &Object) -> &str {
    let holder = lease.at(&["spec", "holderIdentity"]);
    holder.and_then(Value::as_str).unwrap_or_default()
}

fn duration_ms(lease: &Object) -> u64 {
    let seconds = lease.at(&["spec", "leaseDurationSeconds"]);
    let seconds = seconds.and_then(Value::as_u64).unwrap_or(LEASE_SECONDS);
    seconds.saturating_mul(1000)
}
