//! Lease service.

use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use lockstep_etcd_api::EtcdError;
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_mvcc::{Command, LeaseId, LeaseTtl, WriteError};
use pb::lease_server::Lease;
use tokio_stream::Stream;
use tokio_util::sync::WaitForCancellationFutureOwned;
use tonic::{Request, Response as Reply, Status, Streaming};

use crate::member::Member;
use crate::quota::LEASE_BYTES;

/// Attempts to find an unused lease id.
const ID_TRIES_MAX: usize = 8;

pub(crate) struct LeaseService {
    member: Arc<Member>,
    ids: LeaseIds,
}

impl LeaseService {
    pub(crate) fn new(member: Arc<Member>) -> Self {
        let ids = LeaseIds::default();
        Self { member, ids }
    }

    async fn grant(&self, id: LeaseId, ttl_seconds: i64) -> Result<pb::LeaseGrantResponse, Status> {
        let command = Command::LeaseGrant { id, ttl_seconds };
        let applied = self.member.propose(command, Some(LEASE_BYTES)).await?;
        applied.response.map_err(EtcdError::from)?;
        Ok(pb::LeaseGrantResponse {
            header: Some(self.member.origin().header(applied.revision)),
            id: id.0,
            ttl: ttl_seconds,
            error: String::new(),
        })
    }
}

/// Generator of positive random lease ids.
#[derive(Default)]
struct LeaseIds {
    secret: RandomState,
    count: AtomicU64,
}

impl LeaseIds {
    fn next(&self) -> LeaseId {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let number = self.secret.hash_one(count) >> 1;
        LeaseId(i64::try_from(number).unwrap_or(i64::MAX).max(1))
    }
}

#[tonic::async_trait]
impl Lease for LeaseService {
    async fn lease_grant(
        &self,
        request: Request<pb::LeaseGrantRequest>,
    ) -> Result<Reply<pb::LeaseGrantResponse>, Status> {
        let pb::LeaseGrantRequest { ttl, id } = request.into_inner();
        let ttl_seconds = LeaseTtl(ttl).granted(&self.member.limits());
        let ttl_seconds = ttl_seconds.map_err(EtcdError::from)?;
        if id != 0 {
            return Ok(Reply::new(self.grant(LeaseId(id), ttl_seconds).await?));
        }
        let taken = Status::from(EtcdError::from(WriteError::LeaseExists));
        for _ in 0..ID_TRIES_MAX {
            match self.grant(self.ids.next(), ttl_seconds).await {
                Err(status) if status.message() == taken.message() => {}
                answer => return answer.map(Reply::new),
            }
        }
        Err(taken)
    }

    async fn lease_revoke(
        &self,
        request: Request<pb::LeaseRevokeRequest>,
    ) -> Result<Reply<pb::LeaseRevokeResponse>, Status> {
        let id = LeaseId(request.into_inner().id);
        let applied = self
            .member
            .propose(Command::LeaseRevoke { id }, None)
            .await?;
        applied.response.map_err(EtcdError::from)?;
        let header = Some(self.member.origin().header(applied.revision));
        Ok(Reply::new(pb::LeaseRevokeResponse { header }))
    }

    type LeaseKeepAliveStream = KeepAlive;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<pb::LeaseKeepAliveRequest>>,
    ) -> Result<Reply<KeepAlive>, Status> {
        let stopping = self.member.stopping.token().clone().cancelled_owned();
        Ok(Reply::new(KeepAlive {
            member: self.member.clone(),
            requests: request.into_inner(),
            stopping: Box::pin(stopping),
        }))
    }

    async fn lease_time_to_live(
        &self,
        request: Request<pb::LeaseTimeToLiveRequest>,
    ) -> Result<Reply<pb::LeaseTimeToLiveResponse>, Status> {
        let pb::LeaseTimeToLiveRequest { id, keys } = request.into_inner();
        let header = Some(self.member.origin().header(self.member.live().revision()));
        let lease = self.member.store.lease_status(LeaseId(id));
        let mut answer = pb::LeaseTimeToLiveResponse {
            header,
            id,
            ttl: -1,
            granted_ttl: 0,
            keys: Vec::new(),
        };
        if let Some(lease) = lease {
            answer.ttl = i64::try_from(lease.remaining_seconds).unwrap_or(i64::MAX);
            answer.granted_ttl = lease.granted_ttl_seconds;
            if keys {
                answer.keys = lease.keys;
            }
        }
        Ok(Reply::new(answer))
    }

    async fn lease_leases(
        &self,
        _: Request<pb::LeaseLeasesRequest>,
    ) -> Result<Reply<pb::LeaseLeasesResponse>, Status> {
        let answer = self.member.live().inspect(|machine| {
            let leases = machine.leases().map(|(id, _)| pb::LeaseStatus { id: id.0 });
            pb::LeaseLeasesResponse {
                header: Some(self.member.origin().header(machine.revision())),
                leases: leases.collect(),
            }
        });
        Ok(Reply::new(answer))
    }
}

/// Serves a keep-alive stream one request at a time, with the client's backpressure.
pub(crate) struct KeepAlive {
    member: Arc<Member>,
    requests: Streaming<pb::LeaseKeepAliveRequest>,
    stopping: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl KeepAlive {
    /// The header's revision is read before the renewal.
    fn answer(&self, id: LeaseId) -> pb::LeaseKeepAliveResponse {
        let header = Some(self.member.origin().header(self.member.live().revision()));
        let ttl = self.member.store.renew_lease(id).unwrap_or_default();
        let id = id.0;
        pb::LeaseKeepAliveResponse { header, id, ttl }
    }
}

impl Stream for KeepAlive {
    type Item = Result<pb::LeaseKeepAliveResponse, Status>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.stopping.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Some(Err(EtcdError::Stopped.into())));
        }
        let request = match ready!(Pin::new(&mut self.requests).poll_next(cx)) {
            Some(Ok(request)) => request,
            Some(Err(status)) => return Poll::Ready(Some(Err(status))),
            None => return Poll::Ready(None),
        };
        Poll::Ready(Some(Ok(self.answer(LeaseId(request.id)))))
    }
}
