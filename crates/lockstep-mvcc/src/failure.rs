//! Errors of reads and writes.

use crate::{ReadError, RequestError, WriteError};

/// The store cannot be reached or has stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the store is unavailable: {reason}")]
pub struct Unavailable {
    /// Description for logs and people.
    pub reason: String,
}

/// Errors of a read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadFailure {
    /// The store does not have the requested revision.
    #[error(transparent)]
    Refused(#[from] ReadError),
    /// The store did not answer; a retry may succeed.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Errors of a write.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteFailure {
    /// The request is invalid regardless of the store's state. Nothing was written.
    #[error(transparent)]
    Invalid(#[from] RequestError),
    /// The state of the store does not allow the request. Nothing was written.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// The store did not accept the request. Nothing was written, and nothing will be.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store accepted the request and did not report the outcome. It may be applied once, now or later: read
    /// before writing again.
    #[error("the outcome of the write is unknown: {reason}")]
    Uncertain {
        /// Description for logs and people.
        reason: String,
    },
}
