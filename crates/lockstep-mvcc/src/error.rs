//! Errors with etcd's texts and status codes, which its clients match on.

use crate::Revision;

/// gRPC status code of an error.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The request is invalid regardless of the store's state.
    InvalidArgument,
    /// A revision or number is outside the allowed range.
    OutOfRange,
    /// The named key or lease does not exist.
    NotFound,
    /// The state of the store does not allow the request.
    FailedPrecondition,
    /// The store is out of space.
    ResourceExhausted,
    /// The stored data is corrupt.
    DataLoss,
}

/// Errors of requests that are invalid regardless of the store's state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RequestError {
    /// The key is empty.
    #[error("etcdserver: key is not provided")]
    EmptyKey,
    /// A put has both `ignore_value` and a value.
    #[error("etcdserver: value is provided")]
    ValueProvided,
    /// A put has both `ignore_lease` and a lease.
    #[error("etcdserver: lease is provided")]
    LeaseProvided,
    /// A transaction, including nested ones, exceeds the operation limit.
    #[error("etcdserver: too many operations in txn request")]
    TooManyOps,
    /// One branch may modify a key twice.
    #[error("etcdserver: duplicate key given in txn request")]
    DuplicateKey,
    /// The lease TTL exceeds [`crate::LeaseTtl::SECONDS_MAX`].
    #[error("etcdserver: too large lease TTL")]
    LeaseTtlTooLarge,
}

/// Errors of a read at a revision.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// The revision is compacted.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted {
        /// The oldest revision that can be read.
        compacted: Revision,
    },
    /// The revision does not exist yet.
    #[error("etcdserver: mvcc: required revision is a future revision")]
    FutureRevision {
        /// The newest revision that can be read.
        current: Revision,
    },
}

/// Errors of a command that the state does not allow; nothing is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// A read inside a transaction, or a compaction, names an unavailable revision.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A put with `ignore_value` or `ignore_lease` names a missing key.
    #[error("etcdserver: key not found")]
    KeyNotFound,
    /// The lease does not exist.
    #[error("etcdserver: requested lease not found")]
    LeaseNotFound,
    /// A lease with this id exists already.
    #[error("etcdserver: lease already exists")]
    LeaseExists,
    /// The alarm [`crate::AlarmKind::NoSpace`] is raised.
    #[error("etcdserver: mvcc: database space exceeded")]
    NoSpace,
    /// The alarm [`crate::AlarmKind::Corrupt`] is raised.
    #[error("etcdserver: corrupt cluster")]
    Corrupt,
}

impl RequestError {
    /// The status code that clients expect with the text.
    pub fn code(self) -> Code {
        match self {
            Self::LeaseTtlTooLarge => Code::OutOfRange,
            Self::EmptyKey
            | Self::ValueProvided
            | Self::LeaseProvided
            | Self::TooManyOps
            | Self::DuplicateKey => Code::InvalidArgument,
        }
    }
}

impl ReadError {
    /// The status code that clients expect with the text.
    pub fn code(self) -> Code {
        match self {
            Self::Compacted { .. } | Self::FutureRevision { .. } => Code::OutOfRange,
        }
    }
}

impl WriteError {
    /// The status code that clients expect with the text.
    pub fn code(self) -> Code {
        match self {
            Self::Read(error) => error.code(),
            Self::KeyNotFound => Code::InvalidArgument,
            Self::LeaseNotFound => Code::NotFound,
            Self::LeaseExists => Code::FailedPrecondition,
            Self::NoSpace => Code::ResourceExhausted,
            Self::Corrupt => Code::DataLoss,
        }
    }
}
