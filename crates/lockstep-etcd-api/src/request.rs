//! Conversion of requests from and to the wire.

use bytes::Bytes;
use lockstep_mvcc::{
    Bounds, Compare, Comparison, Content, DeleteRange, Key, KeyRange, LeaseId, Op, Predicate,
    Previous, Put, PutLease, PutValue, Range, Revision, Sort, SortOrder, SortTarget, Txn,
    WriteError,
};

use crate::EtcdError;
use crate::etcdserverpb as pb;
use pb::compare::{CompareResult, CompareTarget, TargetUnion};
use pb::range_request::{SortOrder as WireOrder, SortTarget as WireTarget};
use pb::request_op::Request as WireOp;

/// Decodes a range request. `serializable` is not part of it, because it selects the state to read.
pub fn range_from_wire(wire: pb::RangeRequest) -> Result<Range, EtcdError> {
    let keys = KeyRange::from_wire(wire.key, wire.range_end)?;
    let order = WireOrder::try_from(wire.sort_order);
    let target = WireTarget::try_from(wire.sort_target);
    let (Ok(order), Ok(target)) = (order, target) else {
        return Err(EtcdError::InvalidSortOption);
    };
    Ok(Range {
        keys,
        at: revision(wire.revision),
        limit: usize::try_from(wire.limit).unwrap_or_default(),
        sort: sort(order, target),
        content: match (wire.count_only, wire.keys_only) {
            (true, _) => Content::CountOnly,
            (false, true) => Content::KeysOnly,
            (false, false) => Content::Full,
        },
        mod_revisions: bounds(wire.min_mod_revision, wire.max_mod_revision),
        create_revisions: bounds(wire.min_create_revision, wire.max_create_revision),
    })
}

/// Decodes a put. Key and value are copied: the store keeps them, and the decoded slices would keep a whole network
/// buffer alive.
pub fn put_from_wire(wire: &pb::PutRequest) -> Result<Put, EtcdError> {
    let key = Key::new(Bytes::copy_from_slice(&wire.key))?;
    let value = Bytes::copy_from_slice(&wire.value);
    Ok(Put {
        key,
        value: PutValue::from_wire(value, wire.ignore_value)?,
        lease: PutLease::from_wire(LeaseId(wire.lease), wire.ignore_lease)?,
        previous: previous(wire.prev_kv),
    })
}

/// Decodes a delete.
pub fn delete_from_wire(wire: pb::DeleteRangeRequest) -> Result<DeleteRange, EtcdError> {
    Ok(DeleteRange {
        keys: KeyRange::from_wire(wire.key, wire.range_end)?,
        previous: previous(wire.prev_kv),
    })
}

/// Decodes a transaction, which is not checked against limits yet. The protobuf decoder bounds the nesting depth.
pub fn txn_from_wire(wire: pb::TxnRequest) -> Result<Txn, EtcdError> {
    let compares = wire.compare.into_iter().map(compare_from_wire);
    Ok(Txn {
        compares: compares.collect::<Result<_, _>>()?,
        success: ops_from_wire(wire.success)?,
        failure: ops_from_wire(wire.failure)?,
    })
}

fn ops_from_wire(wire: Vec<pb::RequestOp>) -> Result<Vec<Op>, EtcdError> {
    wire.into_iter().map(op_from_wire).collect()
}

fn op_from_wire(wire: pb::RequestOp) -> Result<Op, EtcdError> {
    Ok(match wire.request {
        Some(WireOp::RequestRange(range)) => Op::Range(range_from_wire(range)?),
        Some(WireOp::RequestPut(put)) => Op::Put(put_from_wire(&put)?),
        Some(WireOp::RequestDeleteRange(delete)) => Op::DeleteRange(delete_from_wire(delete)?),
        Some(WireOp::RequestTxn(txn)) => Op::Txn(txn_from_wire(txn)?),
        None => return Err(WriteError::KeyNotFound.into()),
    })
}

fn compare_from_wire(wire: pb::Compare) -> Result<Compare, EtcdError> {
    let keys = KeyRange::from_wire(wire.key, wire.range_end)?;
    let comparison = match CompareResult::try_from(wire.result) {
        Ok(CompareResult::Equal) => Comparison::Equal,
        Ok(CompareResult::NotEqual) => Comparison::NotEqual,
        Ok(CompareResult::Greater) => Comparison::Greater,
        Ok(CompareResult::Less) => Comparison::Less,
        Err(_) => return Err(EtcdError::InvalidCompareOption),
    };
    let target = CompareTarget::try_from(wire.target);
    let target = target.map_err(|_| EtcdError::InvalidCompareOption)?;
    Ok(Compare {
        keys,
        comparison,
        predicate: predicate(target, wire.target_union),
    })
}

/// The given value; one of another target's type counts as missing, which is zero.
fn predicate(target: CompareTarget, given: Option<TargetUnion>) -> Predicate {
    match (target, given) {
        (CompareTarget::Version, Some(TargetUnion::Version(given))) => Predicate::Version(given),
        (CompareTarget::Version, _) => Predicate::Version(0),
        (CompareTarget::Create, Some(TargetUnion::CreateRevision(given))) => {
            Predicate::CreateRevision(given)
        }
        (CompareTarget::Create, _) => Predicate::CreateRevision(0),
        (CompareTarget::Mod, Some(TargetUnion::ModRevision(given))) => {
            Predicate::ModRevision(given)
        }
        (CompareTarget::Mod, _) => Predicate::ModRevision(0),
        (CompareTarget::Value, Some(TargetUnion::Value(given))) => Predicate::Value(given),
        (CompareTarget::Value, _) => Predicate::Value(Bytes::new()),
        (CompareTarget::Lease, Some(TargetUnion::Lease(given))) => Predicate::Lease(LeaseId(given)),
        (CompareTarget::Lease, _) => Predicate::Lease(LeaseId::NONE),
    }
}

/// Revision to read at; 0 and below is the current one.
fn revision(wire: i64) -> Option<Revision> {
    u64::try_from(wire).ok().filter(|at| *at > 0).map(Revision)
}

fn sort(order: WireOrder, target: WireTarget) -> Option<Sort> {
    let order = match (order, target) {
        (WireOrder::None, WireTarget::Key) => return None,
        (WireOrder::None | WireOrder::Ascend, _) => SortOrder::Ascend,
        (WireOrder::Descend, _) => SortOrder::Descend,
    };
    let target = match target {
        WireTarget::Key => SortTarget::Key,
        WireTarget::Version => SortTarget::Version,
        WireTarget::Create => SortTarget::CreateRevision,
        WireTarget::Mod => SortTarget::ModRevision,
        WireTarget::Value => SortTarget::Value,
    };
    Some(Sort { target, order })
}

/// Inclusive bounds; 0 is unbounded. A negative maximum matches nothing.
fn bounds(min: i64, max: i64) -> Bounds {
    match u64::try_from(max) {
        Ok(max) => Bounds {
            min: Revision(u64::try_from(min).unwrap_or_default()),
            max: Revision(max),
        },
        Err(_) => Bounds {
            min: Revision(u64::MAX),
            max: Revision::NONE,
        },
    }
}

fn previous(wire: bool) -> Previous {
    if wire {
        Previous::Return
    } else {
        Previous::Omit
    }
}

/// Encodes a range request.
pub fn range_to_wire(range: &Range) -> pb::RangeRequest {
    let (key, range_end) = range.keys.to_wire();
    let (sort_order, sort_target) = match range.sort {
        None => (WireOrder::None, WireTarget::Key),
        Some(Sort { target, order }) => (
            match order {
                SortOrder::Ascend => WireOrder::Ascend,
                SortOrder::Descend => WireOrder::Descend,
            },
            match target {
                SortTarget::Key => WireTarget::Key,
                SortTarget::Version => WireTarget::Version,
                SortTarget::CreateRevision => WireTarget::Create,
                SortTarget::ModRevision => WireTarget::Mod,
                SortTarget::Value => WireTarget::Value,
            },
        ),
    };
    pb::RangeRequest {
        key,
        range_end,
        limit: i64::try_from(range.limit).unwrap_or(i64::MAX),
        revision: number(range.at.unwrap_or_default()),
        sort_order: sort_order.into(),
        sort_target: sort_target.into(),
        serializable: false,
        keys_only: range.content == Content::KeysOnly,
        count_only: range.content == Content::CountOnly,
        min_mod_revision: number(range.mod_revisions.min),
        max_mod_revision: number(range.mod_revisions.max),
        min_create_revision: number(range.create_revisions.min),
        max_create_revision: number(range.create_revisions.max),
    }
}

/// Encodes a put.
pub fn put_to_wire(put: &Put) -> pb::PutRequest {
    let (value, ignore_value) = match &put.value {
        PutValue::Set(value) => (value.clone(), false),
        PutValue::Keep => (Bytes::new(), true),
    };
    let (lease, ignore_lease) = match put.lease {
        PutLease::Set(lease) => (lease.0, false),
        PutLease::Keep => (0, true),
    };
    pb::PutRequest {
        key: put.key.bytes().clone(),
        value,
        lease,
        prev_kv: put.previous == Previous::Return,
        ignore_value,
        ignore_lease,
    }
}

/// Encodes a delete.
pub fn delete_to_wire(delete: &DeleteRange) -> pb::DeleteRangeRequest {
    let (key, range_end) = delete.keys.to_wire();
    pb::DeleteRangeRequest {
        key,
        range_end,
        prev_kv: delete.previous == Previous::Return,
    }
}

/// Encodes a transaction.
pub fn txn_to_wire(txn: &Txn) -> pb::TxnRequest {
    let ops = |ops: &[Op]| ops.iter().map(op_to_wire).collect();
    pb::TxnRequest {
        compare: txn.compares.iter().map(compare_to_wire).collect(),
        success: ops(&txn.success),
        failure: ops(&txn.failure),
    }
}

fn op_to_wire(op: &Op) -> pb::RequestOp {
    pb::RequestOp {
        request: Some(match op {
            Op::Range(range) => WireOp::RequestRange(range_to_wire(range)),
            Op::Put(put) => WireOp::RequestPut(put_to_wire(put)),
            Op::DeleteRange(delete) => WireOp::RequestDeleteRange(delete_to_wire(delete)),
            Op::Txn(txn) => WireOp::RequestTxn(txn_to_wire(txn)),
        }),
    }
}

fn compare_to_wire(compare: &Compare) -> pb::Compare {
    let (key, range_end) = compare.keys.to_wire();
    let result = match compare.comparison {
        Comparison::Equal => CompareResult::Equal,
        Comparison::NotEqual => CompareResult::NotEqual,
        Comparison::Greater => CompareResult::Greater,
        Comparison::Less => CompareResult::Less,
    };
    let (target, given) = match &compare.predicate {
        Predicate::Version(given) => (CompareTarget::Version, TargetUnion::Version(*given)),
        Predicate::CreateRevision(given) => {
            (CompareTarget::Create, TargetUnion::CreateRevision(*given))
        }
        Predicate::ModRevision(given) => (CompareTarget::Mod, TargetUnion::ModRevision(*given)),
        Predicate::Value(given) => (CompareTarget::Value, TargetUnion::Value(given.clone())),
        Predicate::Lease(given) => (CompareTarget::Lease, TargetUnion::Lease(given.0)),
    };
    pb::Compare {
        result: result.into(),
        target: target.into(),
        key,
        target_union: Some(given),
        range_end,
    }
}

/// Encodes a revision.
pub(crate) fn number(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}
