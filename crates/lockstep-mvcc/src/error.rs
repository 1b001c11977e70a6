//! Why a request is refused, in the words that etcd's clients match on.

use crate::Revision;

/// The gRPC status code that goes with an error, since clients match on code and text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    /// The request is wrong whatever the store holds.
    InvalidArgument,
    /// A number is outside what the store holds or allows.
    OutOfRange,
    /// The named thing does not exist.
    NotFound,
    /// The store is not in the state that the request needs.
    FailedPrecondition,
    /// There is no room.
    ResourceExhausted,
    /// What the store holds cannot be trusted.
    DataLoss,
}

/// The request is wrong whatever the store holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RequestError {
    /// The empty key.
    #[error("etcdserver: key is not provided")]
    EmptyKey,
    /// A put asks to keep the value and brings one.
    #[error("etcdserver: value is provided")]
    ValueProvided,
    /// A put asks to keep the lease and brings one.
    #[error("etcdserver: lease is provided")]
    LeaseProvided,
    /// A transaction, or one nested in it, is larger than its budget.
    #[error("etcdserver: too many operations in txn request")]
    TooManyOps,
    /// One branch may change one key twice.
    #[error("etcdserver: duplicate key given in txn request")]
    DuplicateKey,
    /// A lease may not live that long.
    #[error("etcdserver: too large lease TTL")]
    LeaseTtlTooLarge,
}

/// The store does not hold the revision that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// It held it once.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted {
        /// The oldest revision that can be read.
        compacted: Revision,
    },
    /// It does not hold it yet.
    #[error("etcdserver: mvcc: required revision is a future revision")]
    FutureRevision {
        /// The newest revision that can be read.
        current: Revision,
    },
}

/// A command changed nothing, since the store is not as it needs it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WriteError {
    /// A read inside a transaction, or a compaction, names a revision that is not held.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A put asks to keep what a missing key had.
    #[error("etcdserver: key not found")]
    KeyNotFound,
    /// No lease of this id.
    #[error("etcdserver: requested lease not found")]
    LeaseNotFound,
    /// A lease of this id is there already.
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
