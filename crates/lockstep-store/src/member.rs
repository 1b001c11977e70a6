//! The single member: the embedded store with request limits, quota and identity.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use lockstep_etcd_api::EtcdError;
use lockstep_etcd_api::response::Origin;
use lockstep_mvcc::{
    Alarm, AlarmKind, Applied, Command, Limits, Machine, MemberId, Range, RangeResponse, ReadTxn,
    TxnResponse, WriteError,
};
use lockstep_storage::{Live, WriteFailure};
use lockstep_storage_embedded::EmbeddedStore;
use tonic::Status;

use crate::config::Config;
use crate::identity::Identity;
use crate::metrics::Metrics;
use crate::quota::Quota;
use crate::request_timeout::RequestTimeout;
use crate::stopping::Stopping;
use crate::watch::SharedEvents;

/// Maximum pending proposals, as in etcd.
const WRITES_MAX: usize = 5000;

/// Maximum pending proposals for lease revocations, which free space.
const WRITES_WITH_REVOKES_MAX: usize = 10_000;

/// Allowance for message overhead over the maximum request size.
const MESSAGE_OVERHEAD_BYTES: usize = 512 << 10;

/// Constant Raft term: a single member holds no elections.
const RAFT_TERM: u64 = 2;

/// A member and its store.
pub(crate) struct Member {
    pub(crate) store: EmbeddedStore,
    pub(crate) config: Config,
    pub(crate) identity: Identity,
    pub(crate) quota: Quota,
    pub(crate) stopping: Stopping,
    pub(crate) metrics: Metrics,
    /// Cache of encoded watch events.
    pub(crate) shared_events: SharedEvents,
    /// Request timeouts of writes.
    pub(crate) request_timeout: RequestTimeout,
    writes: AtomicUsize,
    /// True while the `CORRUPT` alarm is raised, which also rejects reads.
    is_corrupt: AtomicBool,
}

impl Member {
    pub(crate) fn new(store: EmbeddedStore, config: Config, identity: Identity) -> Arc<Self> {
        let member = Arc::new(Self {
            quota: Quota::new(config.quota_bytes),
            request_timeout: RequestTimeout::new(config.request_timeout()),
            store,
            config,
            identity,
            stopping: Stopping::default(),
            metrics: Metrics::default(),
            shared_events: SharedEvents::default(),
            writes: AtomicUsize::default(),
            is_corrupt: AtomicBool::default(),
        });
        member.heed_alarms();
        member
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin {
            cluster_id: self.identity.cluster_id,
            member_id: self.identity.member_id,
            raft_term: RAFT_TERM,
        }
    }

    pub(crate) fn live(&self) -> &Arc<Live> {
        self.store.live()
    }

    pub(crate) fn limits(&self) -> Limits {
        Limits {
            txn_ops_max: self.config.txn_ops_max,
            lease_ttl_min_seconds: self.config.lease_ttl_min_seconds(),
        }
    }

    /// Maximum size of a gRPC message.
    pub(crate) fn message_bytes_max(&self) -> usize {
        self.config.request_bytes_max + MESSAGE_OVERHEAD_BYTES
    }

    /// Rejects requests that exceed the size limit.
    pub(crate) fn check_size(&self, request_bytes: usize) -> Result<(), EtcdError> {
        if request_bytes > self.config.request_bytes_max {
            return Err(EtcdError::RequestTooLarge);
        }
        Ok(())
    }

    /// Reads a range. Acknowledged writes are already applied, so every read is linearizable.
    pub(crate) fn range(&self, range: &Range) -> Result<RangeResponse, EtcdError> {
        self.check_readable()?;
        Ok(self.live().range(range)?)
    }

    pub(crate) fn read_txn(&self, txn: ReadTxn<'_>) -> Result<TxnResponse, EtcdError> {
        self.check_readable()?;
        Ok(self.live().read_txn(txn)?)
    }

    /// Proposes a command; `cost` is the quota it needs, if any.
    pub(crate) async fn propose(
        &self,
        command: Command,
        cost: Option<u64>,
    ) -> Result<Applied, Status> {
        if let Some(cost) = cost
            && !self.quota.allows(cost)
        {
            self.raise_no_space().await?;
            return Err(EtcdError::from(WriteError::NoSpace).into());
        }
        let _slot = self.enter(match command {
            Command::LeaseRevoke { .. } => WRITES_WITH_REVOKES_MAX,
            _ => WRITES_MAX,
        })?;
        let outcome = self.store.propose(command);
        match self.request_timeout.wait_for(outcome).await {
            Some(Ok(done)) => Ok(done.applied),
            Some(Err(failure)) => Err(self.error_of(failure).into()),
            None => {
                self.metrics.failed_proposals.add(1);
                Err(EtcdError::TimedOut.into())
            }
        }
    }

    /// Counts a pending proposal; fails above the limit.
    fn enter(&self, writes_max: usize) -> Result<Slot<'_>, EtcdError> {
        let slot = Slot(&self.writes);
        if self.writes.fetch_add(1, Ordering::Relaxed) >= writes_max {
            return Err(EtcdError::TooManyRequests);
        }
        Ok(slot)
    }

    /// Number of pending proposals.
    pub(crate) fn writes_pending(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    /// Converts a write failure. A store with an unknown outcome or a failed disk stops the server.
    fn error_of(&self, failure: WriteFailure) -> EtcdError {
        match failure {
            WriteFailure::Invalid(error) => error.into(),
            WriteFailure::Refused(error) => error.into(),
            WriteFailure::Unavailable(error) => {
                self.stopping.fail(&error.reason);
                EtcdError::Stopped
            }
            WriteFailure::Uncertain { reason } => {
                self.metrics.failed_proposals.add(1);
                self.stopping.fail(&reason);
                EtcdError::TimedOut
            }
        }
    }

    /// Raises or clears an alarm by a command, and updates the quota accordingly.
    pub(crate) async fn set_alarm(&self, alarm: Alarm, is_raised: bool) -> Result<Applied, Status> {
        let command = Command::Alarm { alarm, is_raised };
        let outcome = self.store.propose(command).await;
        let done = outcome.map_err(|failure| self.error_of(failure))?;
        self.heed_alarms();
        Ok(done.applied)
    }

    fn heed_alarms(&self) {
        let is_raised = |kind| {
            let look = |machine: &Machine| machine.alarms().any(|alarm| alarm.kind == kind);
            self.live().inspect(look)
        };
        self.quota.set_full(is_raised(AlarmKind::NoSpace));
        let is_corrupt = is_raised(AlarmKind::Corrupt);
        self.is_corrupt.store(is_corrupt, Ordering::Relaxed);
    }

    fn check_readable(&self) -> Result<(), EtcdError> {
        if self.is_corrupt.load(Ordering::Relaxed) {
            return Err(WriteError::Corrupt.into());
        }
        Ok(())
    }

    /// Updates the quota with the size of the state.
    pub(crate) fn measure(&self) {
        match self.store.state_size() {
            Ok(size) => self.quota.measure(size.file_bytes),
            Err(error) => tracing::warn!(%error, "the size of the state is unknown"),
        }
    }

    async fn raise_no_space(&self) -> Result<(), Status> {
        if self.quota.is_full() {
            return Ok(());
        }
        tracing::warn!(
            quota = self.quota.bytes(),
            "the quota is used up; raising the alarm NOSPACE"
        );
        let alarm = Alarm {
            member: MemberId(self.identity.member_id),
            kind: AlarmKind::NoSpace,
        };
        self.set_alarm(alarm, true).await?;
        Ok(())
    }
}

struct Slot<'a>(&'a AtomicUsize);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use lockstep_mvcc::LeaseId;
    use lockstep_storage_embedded::Options;

    use super::*;

    /// etcd-api.md §8/overload: lease revoke is let in for twice as long.
    #[tokio::test]
    async fn writes_beyond_a_limit_are_refused_and_revokes_beyond_a_higher_one() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config {
            data_dir: folder.path().join("data"),
            ..Config::default()
        };
        let store = EmbeddedStore::open(&config.data_dir, &Options::default()).unwrap();
        let identity = Identity::decide(&config.peer_urls, &config.cluster_token);
        let member = Member::new(store, config, identity);
        let refused = "etcdserver: too many requests";
        let grant = |id| Command::LeaseGrant {
            id: LeaseId(id),
            ttl_seconds: 60,
        };
        let revoke = |id| Command::LeaseRevoke { id: LeaseId(id) };
        let outcome = async |command| match member.propose(command, None).await {
            Ok(applied) => applied
                .response
                .map(|_| ())
                .map_err(|error| error.to_string()),
            Err(status) => Err(status.message().to_owned()),
        };
        assert_eq!(outcome(grant(1)).await, Ok(()));
        let under_way: Vec<_> = (0..WRITES_MAX)
            .map(|_| member.enter(WRITES_MAX).unwrap())
            .collect();
        assert_eq!(outcome(grant(2)).await, Err(refused.to_owned()));
        assert_eq!(outcome(revoke(1)).await, Ok(()));
        let more: Vec<_> = (WRITES_MAX..WRITES_WITH_REVOKES_MAX)
            .map(|_| member.enter(WRITES_WITH_REVOKES_MAX).unwrap())
            .collect();
        assert_eq!(outcome(revoke(1)).await, Err(refused.to_owned()));
        assert_eq!(member.writes_pending(), WRITES_WITH_REVOKES_MAX);
        drop((under_way, more));
        assert_eq!(
            outcome(grant(2)).await,
            Ok(()),
            "what is refused leaves nothing behind"
        );
        assert_eq!(member.writes_pending(), 0);
    }
}
