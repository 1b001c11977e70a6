//! Why a store could not do what it was asked.

use lockstep_mvcc::{ReadError, RequestError, WriteError};

/// The store cannot be reached or has stopped.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the store is unavailable: {reason}")]
pub struct Unavailable {
    /// What happened, for people.
    pub reason: String,
}

/// Why there is no answer to a read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadFailure {
    /// The store does not hold the revision.
    #[error(transparent)]
    Refused(#[from] ReadError),
    /// The store did not answer; asking again may help.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Why a write has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteFailure {
    /// The request is wrong whatever the store holds. Nothing was written.
    #[error(transparent)]
    Wrong(#[from] RequestError),
    /// The store is not as the request needs it. Nothing was written.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// The store did not take the request. Nothing was written, and nothing will be.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// The store took the request and did not tell the outcome. It may be carried out once, now or
    /// in a while: read before writing again.
    #[error("the outcome of the write is unknown: {reason}")]
    Uncertain {
        /// What happened, for people.
        reason: String,
    },
}
