//! Conversion of responses from and to the wire.

use std::sync::Arc;

use lockstep_mvcc::{
    DeleteRangeResponse, KeyValue, LeaseId, OpResponse, PutResponse, RangeResponse, Revision,
    TxnResponse,
};

use crate::request::number;
use crate::{etcdserverpb as pb, mvccpb};
use pb::response_op::Response as WireOp;

/// Response header fields that are the same in every response of a member.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Origin {
    /// Cluster id.
    pub cluster_id: u64,
    /// Member id.
    pub member_id: u64,
    /// Raft term.
    pub raft_term: u64,
}

impl Origin {
    /// The header of a response at a revision.
    pub fn header(self, revision: Revision) -> pb::ResponseHeader {
        pb::ResponseHeader {
            cluster_id: self.cluster_id,
            member_id: self.member_id,
            revision: number(revision),
            raft_term: self.raft_term,
        }
    }

    /// Encodes a range response.
    pub fn range(self, answer: &RangeResponse) -> pb::RangeResponse {
        range_to_wire(answer, self.header(answer.revision))
    }

    /// Encodes a put response.
    pub fn put(self, answer: &PutResponse) -> pb::PutResponse {
        put_to_wire(answer, self.header(answer.revision))
    }

    /// Encodes a delete response.
    pub fn delete(self, answer: &DeleteRangeResponse) -> pb::DeleteRangeResponse {
        delete_to_wire(answer, self.header(answer.revision))
    }

    /// Encodes a transaction response.
    pub fn txn(self, answer: &TxnResponse) -> pb::TxnResponse {
        txn_to_wire(answer, self.header(answer.revision))
    }
}

/// Encodes a key-value; its bytes are shared.
pub fn pair_to_wire(kv: &KeyValue) -> mvccpb::KeyValue {
    mvccpb::KeyValue {
        key: kv.key.clone(),
        create_revision: number(kv.create_revision),
        mod_revision: number(kv.mod_revision),
        version: i64::try_from(kv.version).unwrap_or(i64::MAX),
        value: kv.value.clone(),
        lease: kv.lease.0,
    }
}

fn pairs_to_wire(kvs: &[Arc<KeyValue>]) -> Vec<mvccpb::KeyValue> {
    kvs.iter().map(|kv| pair_to_wire(kv)).collect()
}

fn range_to_wire(answer: &RangeResponse, header: pb::ResponseHeader) -> pb::RangeResponse {
    pb::RangeResponse {
        header: Some(header),
        kvs: pairs_to_wire(&answer.kvs),
        more: answer.more,
        count: count(answer.count),
    }
}

fn put_to_wire(answer: &PutResponse, header: pb::ResponseHeader) -> pb::PutResponse {
    pb::PutResponse {
        header: Some(header),
        prev_kv: answer.previous.as_deref().map(pair_to_wire),
    }
}

fn delete_to_wire(
    answer: &DeleteRangeResponse,
    header: pb::ResponseHeader,
) -> pb::DeleteRangeResponse {
    pb::DeleteRangeResponse {
        header: Some(header),
        deleted: count(answer.deleted),
        prev_kvs: pairs_to_wire(&answer.previous),
    }
}

fn txn_to_wire(answer: &TxnResponse, header: pb::ResponseHeader) -> pb::TxnResponse {
    pb::TxnResponse {
        header: Some(header),
        succeeded: answer.succeeded,
        responses: answer.responses.iter().map(op_to_wire).collect(),
    }
}

/// Inside a transaction headers contain only the revision, and nested transactions have no header.
fn op_to_wire(answer: &OpResponse) -> pb::ResponseOp {
    let header = |revision| Origin::default().header(revision);
    let response = match answer {
        OpResponse::Range(answer) => {
            WireOp::ResponseRange(range_to_wire(answer, header(answer.revision)))
        }
        OpResponse::Put(answer) => {
            WireOp::ResponsePut(put_to_wire(answer, header(answer.revision)))
        }
        OpResponse::DeleteRange(answer) => {
            WireOp::ResponseDeleteRange(delete_to_wire(answer, header(answer.revision)))
        }
        OpResponse::Txn(answer) => {
            WireOp::ResponseTxn(txn_to_wire(answer, pb::ResponseHeader::default()))
        }
    };
    let response = Some(response);
    pb::ResponseOp { response }
}

fn count(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A response that violates the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the server's answer makes no sense: {what}")]
pub struct Unexpected {
    /// The violation.
    pub what: &'static str,
}

/// Decodes a key-value. The wire has no sub-revisions; it is 0.
pub fn pair_from_wire(wire: mvccpb::KeyValue) -> Result<KeyValue, Unexpected> {
    Ok(KeyValue {
        key: wire.key,
        value: wire.value,
        create_revision: revision_from_wire(wire.create_revision)?,
        mod_revision: revision_from_wire(wire.mod_revision)?,
        sub_revision: 0,
        version: u64::try_from(wire.version).map_err(|_| Unexpected {
            what: "a version is negative",
        })?,
        lease: LeaseId(wire.lease),
    })
}

fn pairs_from_wire(wire: Vec<mvccpb::KeyValue>) -> Result<Vec<Arc<KeyValue>>, Unexpected> {
    let pairs = wire.into_iter().map(pair_from_wire);
    pairs.map(|kv| kv.map(Arc::new)).collect()
}

/// Decodes a range response.
pub fn range_from_wire(wire: pb::RangeResponse) -> Result<RangeResponse, Unexpected> {
    Ok(RangeResponse {
        revision: revision_of(wire.header)?,
        kvs: pairs_from_wire(wire.kvs)?,
        more: wire.more,
        count: count_from_wire(wire.count)?,
    })
}

/// Decodes a put response.
pub fn put_from_wire(wire: pb::PutResponse) -> Result<PutResponse, Unexpected> {
    Ok(PutResponse {
        revision: revision_of(wire.header)?,
        previous: wire.prev_kv.map(pair_from_wire).transpose()?.map(Arc::new),
    })
}

/// Decodes a delete response.
pub fn delete_from_wire(wire: pb::DeleteRangeResponse) -> Result<DeleteRangeResponse, Unexpected> {
    Ok(DeleteRangeResponse {
        revision: revision_of(wire.header)?,
        deleted: count_from_wire(wire.deleted)?,
        previous: pairs_from_wire(wire.prev_kvs)?,
    })
}

/// Decodes a transaction response. Nested ones have no revision on the wire and get the outer one's.
pub fn txn_from_wire(wire: pb::TxnResponse) -> Result<TxnResponse, Unexpected> {
    let revision = revision_of(wire.header)?;
    txn_at(revision, wire.succeeded, wire.responses)
}

fn txn_at(
    revision: Revision,
    succeeded: bool,
    responses: Vec<pb::ResponseOp>,
) -> Result<TxnResponse, Unexpected> {
    let responses = responses
        .into_iter()
        .map(|wire| op_from_wire(wire, revision));
    Ok(TxnResponse {
        revision,
        succeeded,
        responses: responses.collect::<Result<_, _>>()?,
    })
}

fn op_from_wire(wire: pb::ResponseOp, revision: Revision) -> Result<OpResponse, Unexpected> {
    Ok(match wire.response {
        Some(WireOp::ResponseRange(answer)) => OpResponse::Range(range_from_wire(answer)?),
        Some(WireOp::ResponsePut(answer)) => OpResponse::Put(put_from_wire(answer)?),
        Some(WireOp::ResponseDeleteRange(answer)) => {
            OpResponse::DeleteRange(delete_from_wire(answer)?)
        }
        Some(WireOp::ResponseTxn(answer)) => {
            OpResponse::Txn(txn_at(revision, answer.succeeded, answer.responses)?)
        }
        None => {
            let what = "an operation has no answer";
            return Err(Unexpected { what });
        }
    })
}

/// Revision of a response header.
pub fn revision_of(header: Option<pb::ResponseHeader>) -> Result<Revision, Unexpected> {
    let header = header.ok_or(Unexpected {
        what: "a reply has no header",
    })?;
    revision_from_wire(header.revision)
}

fn revision_from_wire(wire: i64) -> Result<Revision, Unexpected> {
    let what = "a revision is negative";
    u64::try_from(wire)
        .map(Revision)
        .map_err(|_| Unexpected { what })
}

fn count_from_wire(wire: i64) -> Result<usize, Unexpected> {
    let what = "a count is negative";
    usize::try_from(wire).map_err(|_| Unexpected { what })
}
