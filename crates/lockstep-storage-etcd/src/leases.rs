//! Leases.

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_storage::{GrantedLease, LeaseId, LeaseStatus, LeaseTtl, ReadFailure, WriteFailure};
use tonic::Response;

use crate::call_error::{CallError, MemberFailure};
use crate::cluster::{Cluster, Idempotency};
use crate::request::needs_leader;

/// Grants a lease with an id chosen by etcd. If the response is lost, the lease is unused until it expires.
pub(crate) async fn grant(cluster: &Cluster, ttl: LeaseTtl) -> Result<GrantedLease, WriteFailure> {
    let request = pb::LeaseGrantRequest { ttl: ttl.0, id: 0 };
    let answer = cluster.ask(Idempotency::NotIdempotent, |connection| async move {
        connection.leases().lease_grant(needs_leader(request)).await
    });
    let granted = answer.await.map_err(CallError::of_write)?;
    Ok(GrantedLease {
        id: LeaseId(granted.id),
        ttl_seconds: granted.ttl,
    })
}

/// Revokes a lease.
pub(crate) async fn revoke(cluster: &Cluster, id: LeaseId) -> Result<(), WriteFailure> {
    let request = pb::LeaseRevokeRequest { id: id.0 };
    let answer = cluster.ask(Idempotency::NotIdempotent, |connection| async move {
        let request = needs_leader(request);
        connection.leases().lease_revoke(request).await
    });
    answer.await.map(drop).map_err(CallError::of_write)
}

/// Renews a lease on its own stream: renewals are rare, and a shared stream would have to be kept open.
pub(crate) async fn keep_alive(
    cluster: &Cluster,
    id: LeaseId,
) -> Result<Option<i64>, WriteFailure> {
    let request = pb::LeaseKeepAliveRequest { id: id.0 };
    let answer = cluster.ask(Idempotency::Idempotent, |connection| async move {
        let once = needs_leader(tokio_stream::once(request));
        let answers = connection.leases().lease_keep_alive(once).await?;
        match answers.into_inner().message().await? {
            Some(answer) => Ok(Response::new(answer)),
            None => Err(MemberFailure::unexpected("the member ended the stream")),
        }
    });
    let renewed = answer.await.map_err(CallError::of_idempotent)?;
    Ok(Some(renewed.ttl).filter(|ttl| *ttl > 0))
}

/// Status of a lease.
pub(crate) async fn status(
    cluster: &Cluster,
    id: LeaseId,
) -> Result<Option<LeaseStatus>, ReadFailure> {
    let request = pb::LeaseTimeToLiveRequest {
        id: id.0,
        keys: true,
    };
    let answer = cluster.ask(Idempotency::Idempotent, |connection| async move {
        let request = needs_leader(request);
        connection.leases().lease_time_to_live(request).await
    });
    let answer = answer.await.map_err(CallError::of_read)?;
    // etcd reports an expired lease with a negative TTL.
    let Ok(remaining_seconds) = u64::try_from(answer.ttl) else {
        return Ok(None);
    };
    let mut keys = answer.keys;
    keys.sort_unstable();
    Ok(Some(LeaseStatus {
        granted_ttl_seconds: answer.granted_ttl,
        remaining_seconds,
        keys,
    }))
}
