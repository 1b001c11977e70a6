//! KV service: range, put, delete, transactions, compaction.

use std::future::{Ready, ready};
use std::sync::Arc;

use bytes::Bytes;
use http::{Request as HttpRequest, Response as HttpResponse};
use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::{EtcdError, request};
use lockstep_mvcc::{Command, Content, Range, Response, Revision};
use tonic::server::{Grpc, ServerStreamingService};
use tonic::{Request, Response as Reply, Status};
use tonic_prost::ProstCodec;

use crate::member::Member;
use crate::metrics::Call;
use crate::quota;
use crate::range_stream::RangeStream;
use crate::rpc_error::RpcError;
use crate::unary::{self, Body};

/// Maximum key-values read and encoded on the connection's thread; larger reads would delay its other connections.
const SHORT_READ_PAIRS_MAX: usize = 1000;

#[derive(Clone)]
pub(crate) struct KvService(pub(crate) Arc<Member>);

/// Unary methods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    Range,
    Put,
    DeleteRange,
    Txn,
    Compact,
}

impl Method {
    /// The method of a request path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        Some(match path.strip_prefix("/etcdserverpb.KV/")? {
            "Range" => Self::Range,
            "Put" => Self::Put,
            "DeleteRange" => Self::DeleteRange,
            "Txn" => Self::Txn,
            "Compact" => Self::Compact,
            _ => return None,
        })
    }
}

impl KvService {
    /// Serves a unary method.
    pub(crate) async fn answer<B>(self, method: Method, body: B, call: Call) -> HttpResponse<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Unpin,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        match self.outcome(method, body, &call).await {
            Ok(message) => {
                call.replies_one(message.len());
                unary::reply(message)
            }
            Err(status) => {
                call.refuses(&status);
                status.into_http::<tonic::body::Body>().map(Body::from)
            }
        }
    }

    async fn outcome<B>(&self, method: Method, body: B, call: &Call) -> Result<Bytes, Status>
    where
        B: hyper::body::Body<Data = Bytes> + Unpin,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let message = unary::receive(body, self.0.message_bytes_max()).await?;
        call.received_one(message.len());
        if !matches!(method, Method::Range | Method::Compact) {
            self.0.check_size(message.len())?;
        }
        let encoded = match method {
            Method::Range => return self.range(unary::decode(message)?).await,
            Method::Put => unary::encode(&self.put(unary::decode(message)?).await?),
            Method::DeleteRange => unary::encode(&self.delete(unary::decode(message)?).await?),
            Method::Txn => unary::encode(&self.txn(unary::decode(message)?).await?),
            Method::Compact => unary::encode(&self.compact(unary::decode(message)?).await?),
        };
        Ok(encoded?)
    }

    async fn range(&self, wire: pb::RangeRequest) -> Result<Bytes, Status> {
        let range = request::range_from_wire(wire)?;
        self.0.metrics.operations.ranges.add(1);
        if !self.is_long(&range)? {
            return self.read(&range);
        }
        let kv = self.clone();
        let read = tokio::task::spawn_blocking(move || kv.read(&range)).await;
        read.unwrap_or_else(|error| Err(RpcError::ReadAborted(error).into()))
    }

    fn read(&self, range: &Range) -> Result<Bytes, Status> {
        let answer = self.0.range(range)?;
        Ok(unary::encode(&self.0.origin().range(&answer))?)
    }

    /// True if a read is too large for the connection's thread.
    fn is_long(&self, range: &Range) -> Result<bool, EtcdError> {
        let is_bounded = (1..=SHORT_READ_PAIRS_MAX).contains(&range.limit) && range.sort.is_none();
        let is_short = is_bounded || range.keys.as_single().is_some();
        if is_short || range.content == Content::CountOnly {
            return Ok(false);
        }
        let count = Range {
            content: Content::CountOnly,
            ..range.clone()
        };
        Ok(self.0.range(&count)?.count > SHORT_READ_PAIRS_MAX)
    }

    async fn put(&self, wire: pb::PutRequest) -> Result<pb::PutResponse, Status> {
        let put = request::put_from_wire(&wire)?;
        drop(wire);
        let cost = quota::put_cost(&put);
        match self.propose(Command::Put(put), Some(cost)).await? {
            Response::Put(answer) => Ok(self.0.origin().put(&answer)),
            other => unreachable!("a put was answered by {other:?}"),
        }
    }

    async fn delete(
        &self,
        wire: pb::DeleteRangeRequest,
    ) -> Result<pb::DeleteRangeResponse, Status> {
        let delete = request::delete_from_wire(wire)?;
        match self.propose(Command::DeleteRange(delete), None).await? {
            Response::DeleteRange(answer) => Ok(self.0.origin().delete(&answer)),
            other => unreachable!("a delete was answered by {other:?}"),
        }
    }

    async fn txn(&self, wire: pb::TxnRequest) -> Result<pb::TxnResponse, Status> {
        let txn = request::txn_from_wire(wire)?;
        let txn = txn
            .check(self.0.config.txn_ops_max)
            .map_err(EtcdError::from)?;
        if let Some(read) = txn.as_read_only() {
            let answer = self.0.read_txn(read)?;
            self.0.metrics.operations.count_txn(&answer);
            return Ok(self.0.origin().txn(&answer));
        }
        let cost = quota::txn_cost(txn.txn());
        match self.propose(Command::Txn(txn), cost).await? {
            Response::Txn(answer) => Ok(self.0.origin().txn(&answer)),
            other => unreachable!("a transaction was answered by {other:?}"),
        }
    }

    async fn compact(&self, wire: pb::CompactionRequest) -> Result<pb::CompactionResponse, Status> {
        let pb::CompactionRequest { revision, physical } = wire;
        let at = Revision(u64::try_from(revision).unwrap_or_default());
        let applied = self.0.propose(Command::Compact { at }, None).await?;
        applied.response.map_err(EtcdError::from)?;
        if physical {
            let settled = self.0.store.settle().await;
            settled.map_err(|error| {
                self.0.stopping.fail(&error.reason);
                EtcdError::Stopped
            })?;
        }
        let header = Some(self.0.origin().header(applied.revision));
        Ok(pb::CompactionResponse { header })
    }

    async fn propose(&self, command: Command, cost: Option<u64>) -> Result<Response, Status> {
        let applied = self.0.propose(command, cost).await?;
        let response = applied.response.map_err(EtcdError::from)?;
        self.0.metrics.operations.count(&response);
        Ok(response)
    }

    /// Serves `RangeStream`.
    pub(crate) async fn stream<B>(self, request: HttpRequest<B>) -> HttpResponse<tonic::body::Body>
    where
        B: hyper::body::Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
    {
        let bytes_max = self.0.message_bytes_max();
        let codec = ProstCodec::<pb::RangeStreamResponse, pb::RangeRequest>::default();
        let mut grpc = Grpc::new(codec).apply_max_message_size_config(Some(bytes_max), None);
        grpc.server_streaming(self, request).await
    }
}

impl ServerStreamingService<pb::RangeRequest> for KvService {
    type Response = pb::RangeStreamResponse;
    type ResponseStream = RangeStream;
    type Future = Ready<Result<Reply<RangeStream>, Status>>;

    fn call(&mut self, request: Request<pb::RangeRequest>) -> Self::Future {
        let range = request::range_from_wire(request.into_inner());
        let stream = range
            .map_err(Status::from)
            .and_then(|range| Ok(RangeStream::new(self.0.clone(), range)?));
        ready(stream.map(Reply::new))
    }
}
