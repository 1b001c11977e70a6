//! What the machine answers.

use std::sync::Arc;

use crate::{Alarm, KeyValue, LeaseId, Revision, WriteError};

/// The outcome of one command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The revision of the store after the command.
    pub revision: Revision,
    /// What the proposer is told.
    pub response: Result<Response, WriteError>,
    /// What else the owner of the machine has to know.
    pub effect: Effect,
}

/// What a command did besides answering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// Nothing.
    None,
    /// Keys changed at a new revision; [`crate::Machine::changes`] tells which.
    Changed {
        /// The new revision.
        revision: Revision,
    },
    /// History is gone; [`crate::Machine::sweep`] frees it.
    Compacted {
        /// The oldest revision that is readable from now on.
        at: Revision,
    },
    /// A lease is there; its clock starts.
    LeaseGranted {
        /// Its id.
        id: LeaseId,
        /// Its effective TTL.
        ttl_seconds: i64,
    },
    /// A lease is gone; its clock stops.
    LeaseRevoked {
        /// Its id.
        id: LeaseId,
        /// The revision that deleted its keys, if it had some.
        changed: Option<Revision>,
    },
    /// An alarm was raised or cleared.
    AlarmChanged {
        /// Which one.
        alarm: Alarm,
        /// Whether it is raised from now on.
        is_raised: bool,
    },
}

/// The answer to a command that was carried out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Response {
    /// To a put.
    Put(PutResponse),
    /// To a delete.
    DeleteRange(DeleteRangeResponse),
    /// To a transaction.
    Txn(TxnResponse),
    /// To a compaction.
    Compact,
    /// To a grant.
    LeaseGrant {
        /// The effective TTL.
        ttl_seconds: i64,
    },
    /// To a revoke.
    LeaseRevoke,
    /// To an alarm that was raised or cleared, or was so already.
    Alarm,
}

/// The answer to a read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RangeResponse {
    /// The revision of the store, also when an older one was read.
    pub revision: Revision,
    /// The pairs.
    pub kvs: Vec<Arc<KeyValue>>,
    /// Whether the limit cut pairs off.
    pub more: bool,
    /// How many keys the range holds at the revision that was read, whatever limit and bounds say.
    pub count: usize,
}

/// The answer to a put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PutResponse {
    /// The revision of the put.
    pub revision: Revision,
    /// The version before, if asked for and there was one.
    pub previous: Option<Arc<KeyValue>>,
}

/// The answer to a delete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeleteRangeResponse {
    /// The revision of the delete, or the current one if there was nothing to delete.
    pub revision: Revision,
    /// How many keys were deleted.
    pub deleted: usize,
    /// The deleted versions in key order, if asked for.
    pub previous: Vec<Arc<KeyValue>>,
}

/// The answer to a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TxnResponse {
    /// The revision after the transaction.
    pub revision: Revision,
    /// Whether all compares held, so which of the two lists ran.
    pub succeeded: bool,
    /// The answers of the list that ran, in its order.
    pub responses: Vec<OpResponse>,
}

/// The answer to one operation of a transaction. Its revision is the one after the operations so
/// far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpResponse {
    /// To a read.
    Range(RangeResponse),
    /// To a put.
    Put(PutResponse),
    /// To a delete.
    DeleteRange(DeleteRangeResponse),
    /// To a nested transaction.
    Txn(TxnResponse),
}
