//! Reads, writes and transactions.

use std::sync::Arc;

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::{Refusal, request};
use lockstep_mvcc::{Command, Response, Revision};
use pb::kv_server::Kv;
use tonic::{Request, Response as Reply, Status};

use crate::member::Member;
use crate::quota;
use crate::range_stream::RangeStream;

pub(crate) struct KvService(pub(crate) Arc<Member>);

impl KvService {
    async fn propose(&self, command: Command, cost: Option<u64>) -> Result<Response, Status> {
        let applied = self.0.propose(command, cost).await?;
        let response = applied.response.map_err(Refusal::from)?;
        self.0.metrics.operations.count(&response);
        Ok(response)
    }
}

#[tonic::async_trait]
impl Kv for KvService {
    async fn range(
        &self,
        request: Request<pb::RangeRequest>,
    ) -> Result<Reply<pb::RangeResponse>, Status> {
        let range = request::range_from_wire(request.into_inner())?;
        let answer = self.0.range(&range)?;
        self.0.metrics.operations.ranges.add(1);
        Ok(Reply::new(self.0.origin().range(&answer)))
    }

    type RangeStreamStream = RangeStream;

    async fn range_stream(
        &self,
        request: Request<pb::RangeRequest>,
    ) -> Result<Reply<RangeStream>, Status> {
        let range = request::range_from_wire(request.into_inner())?;
        Ok(Reply::new(RangeStream::new(self.0.clone(), range)?))
    }

    async fn put(
        &self,
        request: Request<pb::PutRequest>,
    ) -> Result<Reply<pb::PutResponse>, Status> {
        let wire = request.into_inner();
        self.0.check_size(&wire)?;
        let put = request::put_from_wire(&wire)?;
        drop(wire);
        let cost = quota::put_cost(&put);
        match self.propose(Command::Put(put), Some(cost)).await? {
            Response::Put(answer) => Ok(Reply::new(self.0.origin().put(&answer))),
            other => unreachable!("a put was answered by {other:?}"),
        }
    }

    async fn delete_range(
        &self,
        request: Request<pb::DeleteRangeRequest>,
    ) -> Result<Reply<pb::DeleteRangeResponse>, Status> {
        let wire = request.into_inner();
        self.0.check_size(&wire)?;
        let delete = request::delete_from_wire(wire)?;
        match self.propose(Command::DeleteRange(delete), None).await? {
            Response::DeleteRange(answer) => Ok(Reply::new(self.0.origin().delete(&answer))),
            other => unreachable!("a delete was answered by {other:?}"),
        }
    }

    async fn txn(
        &self,
        request: Request<pb::TxnRequest>,
    ) -> Result<Reply<pb::TxnResponse>, Status> {
        let wire = request.into_inner();
        self.0.check_size(&wire)?;
        let txn = request::txn_from_wire(wire)?;
        let txn = txn
            .check(self.0.config.txn_ops_max)
            .map_err(Refusal::from)?;
        if let Some(read) = txn.as_read_only() {
            let answer = self.0.read_txn(read)?;
            self.0.metrics.operations.count_txn(&answer);
            return Ok(Reply::new(self.0.origin().txn(&answer)));
        }
        let cost = quota::txn_cost(txn.txn());
        match self.propose(Command::Txn(txn), cost).await? {
            Response::Txn(answer) => Ok(Reply::new(self.0.origin().txn(&answer))),
            other => unreachable!("a transaction was answered by {other:?}"),
        }
    }

    async fn compact(
        &self,
        request: Request<pb::CompactionRequest>,
    ) -> Result<Reply<pb::CompactionResponse>, Status> {
        let pb::CompactionRequest { revision, physical } = request.into_inner();
        let at = Revision(u64::try_from(revision).unwrap_or_default());
        let applied = self.0.propose(Command::Compact { at }, None).await?;
        applied.response.map_err(Refusal::from)?;
        if physical {
            let settled = self.0.store.settle().await;
            settled.map_err(|error| {
                self.0.stopping.fail(&error.reason);
                Refusal::Stopped
            })?;
        }
        let header = Some(self.0.origin().header(applied.revision));
        Ok(Reply::new(pb::CompactionResponse { header }))
    }
}
