//! The store.

use std::error::Error;
use std::sync::Arc;

use lockstep_etcd_api::RefusalCode;
use lockstep_etcd_api::etcdserverpb::request_op::Request as WireOp;
use lockstep_etcd_api::etcdserverpb::{Compare, RangeRequest, RequestOp, TxnRequest};
use lockstep_storage::{
    CheckedTxn, Consistency, GrantedLease, LeaseId, LeaseStatus, LeaseTtl, Range, RangeResponse,
    ReadFailure, Revision, Store, StoreFuture, TxnResponse, Unavailable, Watch, WatchRequest,
    WriteFailure,
};
use tokio::time::timeout;

use crate::cluster::Cluster;
use crate::options::{Options, OptionsError};
use crate::request::needs_leader;
use crate::verdict::{told, unavailable};
use crate::{leases, reads, watch, writes};

/// An etcd v3 cluster as a store.
pub struct EtcdStore {
    cluster: Arc<Cluster>,
}

/// Why a cluster cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The options make no sense.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// No member answers as it should; the reason tells each one's.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// A server that speaks etcd's protocol and cannot do what writes rely on.
    #[error(
        "the server refuses a transaction with two compares, so no write could be fenced: use etcd \
         itself instead of a layer over another database ({reason})"
    )]
    NoMultiCompare {
        /// What the server said.
        reason: String,
    },
}

impl EtcdStore {
    /// Connects to the first member that can be reached, and makes sure that it is an etcd that
    /// every rule of the contract can be built on. Must be called inside a tokio runtime with IO
    /// and time enabled.
    pub async fn connect(options: Options) -> Result<Self, ConnectError> {
        let cluster = Arc::new(Cluster::new(options)?);
        cluster.connection().await?;
        check_multi_compare(&cluster).await?;
        Ok(Self { cluster })
    }
}

/// Asks for a transaction with two compares that changes nothing.
async fn check_multi_compare(cluster: &Cluster) -> Result<(), ConnectError> {
    let connection = cluster.connection().await?;
    let request = needs_leader(two_compares());
    let answer = timeout(cluster.timeouts().request, connection.kv().txn(request)).await;
    let status = match answer {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(status)) => status,
        Err(_) => return Err(unavailable(cluster.no_answer(connection.url())).into()),
    };
    let reason = format!("`{}`: {}", connection.url(), told(&status));
    // The codes by which a server that does answer says that it does not do this.
    let is_about_the_request = matches!(
        status.code(),
        RefusalCode::Unknown | RefusalCode::InvalidArgument | RefusalCode::Unimplemented
    );
    Err(if is_about_the_request && status.source().is_none() {
        ConnectError::NoMultiCompare { reason }
    } else {
        unavailable(reason).into()
    })
}

fn two_compares() -> TxnRequest {
    let compare = |key: u8| Compare {
        key: vec![key].into(),
        ..Compare::default()
    };
    let read = RangeRequest {
        key: vec![0].into(),
        count_only: true,
        ..RangeRequest::default()
    };
    let read = RequestOp {
        request: Some(WireOp::RequestRange(read)),
    };
    TxnRequest {
        compare: vec![compare(0), compare(1)],
        success: vec![read.clone()],
        failure: vec![read],
    }
}

impl Store for EtcdStore {
    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        Box::pin(async move { reads::range(&self.cluster, &range, consistency).await })
    }

    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        Box::pin(async move { writes::txn(&self.cluster, &txn).await })
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        Box::pin(watch::start(self.cluster.clone(), request))
    }

    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        Box::pin(reads::revision(&self.cluster, consistency))
    }

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        Box::pin(reads::size(&self.cluster))
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(writes::compact(&self.cluster, at))
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        Box::pin(leases::grant(&self.cluster, ttl))
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(leases::revoke(&self.cluster, id))
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        Box::pin(leases::keep_alive(&self.cluster, id))
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        Box::pin(leases::status(&self.cluster, id))
    }
}
