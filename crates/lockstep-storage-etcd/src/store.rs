//! [`EtcdStore`].

use std::error::Error;
use std::sync::Arc;

use lockstep_etcd_api::EtcdErrorCode;
use lockstep_etcd_api::etcdserverpb::request_op::Request as WireOp;
use lockstep_etcd_api::etcdserverpb::{Compare, RangeRequest, RequestOp, TxnRequest};
use lockstep_storage::{
    CheckedTxn, Consistency, GrantedLease, LeaseId, LeaseStatus, LeaseTtl, Range, RangeResponse,
    ReadFailure, Revision, Store, StoreFuture, TxnResponse, Unavailable, Watch, WatchRequest,
    WriteFailure,
};
use tokio::time::timeout;

use crate::call_error::{describe, unavailable};
use crate::cluster::Cluster;
use crate::options::{Options, OptionsError};
use crate::request::needs_leader;
use crate::{leases, reads, tls, watch, writes};

/// A store on an etcd v3 cluster.
pub struct EtcdStore {
    cluster: Arc<Cluster>,
}

/// Errors of connecting to a cluster.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ConnectError {
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The TLS files cannot be used.
    #[error("{reason}")]
    Tls {
        /// The file, and what is wrong with it.
        reason: String,
    },
    /// No member is usable; the reason lists each member's error.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The server does not support transactions that fenced writes need.
    #[error(
        "the server refuses a transaction with two compares, so no write could be fenced: use etcd \
         itself instead of a layer over another database ({reason})"
    )]
    NoMultiCompare {
        /// The server's error.
        reason: String,
    },
}

impl EtcdStore {
    /// Connects to the first reachable member and checks that it supports every operation of the contract. Must be
    /// called inside a tokio runtime with IO and time enabled.
    pub async fn connect(options: Options) -> Result<Self, ConnectError> {
        let store = Self::unconnected(options)?;
        store.check().await?;
        Ok(store)
    }

    /// Creates a store that connects with its first request, for a cluster that may not be there yet.
    /// [`EtcdStore::check`] tells when it is.
    pub fn unconnected(options: Options) -> Result<Self, ConnectError> {
        let cluster = Arc::new(Cluster::new(options)?);
        Ok(Self { cluster })
    }

    /// Checks that a member can be reached and supports every operation of the contract.
    pub async fn check(&self) -> Result<(), ConnectError> {
        if let Some(files) = self.cluster.tls() {
            let read = tls::config(files).await;
            read.map_err(|error| ConnectError::Tls {
                reason: error.to_string(),
            })?;
        }
        self.cluster.connection().await?;
        check_multi_compare(&self.cluster).await
    }
}

/// Tests a transaction with two compares that changes nothing.
async fn check_multi_compare(cluster: &Cluster) -> Result<(), ConnectError> {
    let connection = cluster.connection().await?;
    let request = needs_leader(two_compares());
    let answer = timeout(cluster.timeouts().request, connection.kv().txn(request)).await;
    let status = match answer {
        Ok(Ok(_)) => return Ok(()),
        Ok(Err(status)) => status,
        Err(_) => return Err(unavailable(cluster.no_answer(connection.url())).into()),
    };
    let reason = format!("`{}`: {}", connection.url(), describe(&status));
    // Codes by which a reachable server reports an unsupported transaction.
    let is_about_the_request = matches!(
        status.code(),
        EtcdErrorCode::Unknown | EtcdErrorCode::InvalidArgument | EtcdErrorCode::Unimplemented
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
