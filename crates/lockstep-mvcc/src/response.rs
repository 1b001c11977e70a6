//! Outcomes of commands and responses to reads.

use std::sync::Arc;

use crate::{Alarm, KeyValue, LeaseId, Revision, WriteError};

/// Outcome of a command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// The revision of the store after the command.
    pub revision: Revision,
    /// The response for the client.
    pub response: Result<Response, WriteError>,
    /// The state change, for the owner of the machine.
    pub effect: Effect,
}

/// State change made by a command, which the owner acts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// No change.
    None,
    /// Keys changed at a new revision; [`crate::Machine::changes`] returns the versions.
    Changed {
        /// The new revision.
        revision: Revision,
    },
    /// History was compacted; [`crate::Machine::sweep`] reclaims its memory.
    Compacted {
        /// The oldest readable revision.
        at: Revision,
    },
    /// A lease was granted; its deadline starts.
    LeaseGranted {
        /// Its id.
        id: LeaseId,
        /// Its effective TTL.
        ttl_seconds: i64,
    },
    /// A lease was revoked; its deadline ends.
    LeaseRevoked {
        /// Its id.
        id: LeaseId,
        /// The revision that deleted its keys, if it had any.
        changed: Option<Revision>,
    },
    /// An alarm was raised or cleared.
    AlarmChanged {
        /// The alarm.
        alarm: Alarm,
        /// True if it was raised, false if it was cleared.
        is_raised: bool,
    },
}

/// Response to a successful command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Response {
    /// Response to a put.
    Put(PutResponse),
    /// Response to a delete.
    DeleteRange(DeleteRangeResponse),
    /// Response to a transaction.
    Txn(TxnResponse),
    /// Response to a compaction.
    Compact,
    /// Response to a lease grant.
    LeaseGrant {
        /// The effective TTL.
        ttl_seconds: i64,
    },
    /// Response to a lease revocation.
    LeaseRevoke,
    /// Response to an alarm command, also if it changed nothing.
    Alarm,
}

/// Response to a range request.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RangeResponse {
    /// The current revision of the store, also if an older one was read.
    pub revision: Revision,
    /// The key-values.
    pub kvs: Vec<Arc<KeyValue>>,
    /// True if the limit truncated the result.
    pub more: bool,
    /// Number of keys in the range at the revision read, regardless of limit and bounds.
    pub count: usize,
}

/// Response to a put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PutResponse {
    /// The revision of the put.
    pub revision: Revision,
    /// The previous version, if requested and present.
    pub previous: Option<Arc<KeyValue>>,
}

/// Response to a delete.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeleteRangeResponse {
    /// The revision of the delete, or the current one if no key existed.
    pub revision: Revision,
    /// Number of deleted keys.
    pub deleted: usize,
    /// The deleted versions in key order, if requested.
    pub previous: Vec<Arc<KeyValue>>,
}

/// Response to a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TxnResponse {
    /// The revision after the transaction.
    pub revision: Revision,
    /// True if all compares held, so the success branch ran.
    pub succeeded: bool,
    /// Responses of the branch that ran, in order.
    pub responses: Vec<OpResponse>,
}

/// Response to an operation of a transaction. Its revision is the one after the operations so far.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpResponse {
    /// Response to a read.
    Range(RangeResponse),
    /// Response to a put.
    Put(PutResponse),
    /// Response to a delete.
    DeleteRange(DeleteRangeResponse),
    /// Response to a nested transaction.
    Txn(TxnResponse),
}
