//! Errors of the API, by the code and text that clients match on.

use lockstep_mvcc::{Code, ReadError, RequestError, Revision, WriteError};
use tonic::Status;

/// gRPC status code of an error.
pub type EtcdErrorCode = tonic::Code;

/// Errors of the API with etcd's texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EtcdError {
    /// The request is invalid regardless of the store's state.
    #[error(transparent)]
    InvalidRequest(#[from] RequestError),
    /// The state of the store does not allow the request.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// Unknown sort order or target.
    #[error("etcdserver: invalid sort option")]
    InvalidSortOption,
    /// Unknown compare result or target.
    #[error("etcdserver: invalid compare option")]
    InvalidCompareOption,
    /// The request exceeds the size limit.
    #[error("etcdserver: request is too large")]
    RequestTooLarge,
    /// The client's version metadata is not text.
    #[error("etcdserver: invalid client api version")]
    InvalidClientVersion,
    /// Too many pending proposals.
    #[error("etcdserver: too many requests")]
    TooManyRequests,
    /// The member id is unknown.
    #[error("etcdserver: member not found")]
    MemberNotFound,
    /// The leader cannot be moved to that member.
    #[error("etcdserver: bad leader transferee")]
    BadLeaderTransferee,
    /// The request must be sent to the leader.
    #[error("etcdserver: not leader")]
    NotLeader,
    /// The cluster has no leader.
    #[error("etcdserver: no leader")]
    NoLeader,
    /// The leader changed while the request was under way.
    #[error("etcdserver: leader changed")]
    LeaderChanged,
    /// The server is shutting down.
    #[error("etcdserver: server stopped")]
    Stopped,
    /// The request timed out; it may still be applied.
    #[error("etcdserver: request timed out")]
    TimedOut,
    /// The auth token is unknown or expired.
    #[error("etcdserver: invalid auth token")]
    InvalidAuthToken,
    /// The user may not do this.
    #[error("etcdserver: permission denied")]
    PermissionDenied,
    /// Authentication is not enabled.
    #[error("etcdserver: authentication is not enabled")]
    AuthNotEnabled,
}

impl EtcdError {
    /// All errors; revisions inside are [`Revision::NONE`].
    pub const ALL: [Self; 28] = [
        Self::InvalidRequest(RequestError::EmptyKey),
        Self::InvalidRequest(RequestError::ValueProvided),
        Self::InvalidRequest(RequestError::LeaseProvided),
        Self::InvalidRequest(RequestError::TooManyOps),
        Self::InvalidRequest(RequestError::DuplicateKey),
        Self::InvalidRequest(RequestError::LeaseTtlTooLarge),
        Self::Write(WriteError::Read(ReadError::Compacted {
            compacted: Revision::NONE,
        })),
        Self::Write(WriteError::Read(ReadError::FutureRevision {
            current: Revision::NONE,
        })),
        Self::Write(WriteError::KeyNotFound),
        Self::Write(WriteError::LeaseNotFound),
        Self::Write(WriteError::LeaseExists),
        Self::Write(WriteError::NoSpace),
        Self::Write(WriteError::Corrupt),
        Self::InvalidSortOption,
        Self::InvalidCompareOption,
        Self::RequestTooLarge,
        Self::InvalidClientVersion,
        Self::TooManyRequests,
        Self::MemberNotFound,
        Self::BadLeaderTransferee,
        Self::NotLeader,
        Self::NoLeader,
        Self::LeaderChanged,
        Self::Stopped,
        Self::TimedOut,
        Self::InvalidAuthToken,
        Self::PermissionDenied,
        Self::AuthNotEnabled,
    ];

    /// The status code of the error.
    pub fn code(self) -> EtcdErrorCode {
        match self {
            Self::InvalidRequest(error) => code(error.code()),
            Self::Write(error) => code(error.code()),
            Self::InvalidSortOption
            | Self::InvalidCompareOption
            | Self::RequestTooLarge
            | Self::InvalidClientVersion => EtcdErrorCode::InvalidArgument,
            Self::TooManyRequests => EtcdErrorCode::ResourceExhausted,
            Self::MemberNotFound => EtcdErrorCode::NotFound,
            Self::BadLeaderTransferee | Self::NotLeader | Self::AuthNotEnabled => {
                EtcdErrorCode::FailedPrecondition
            }
            Self::NoLeader | Self::LeaderChanged | Self::Stopped | Self::TimedOut => {
                EtcdErrorCode::Unavailable
            }
            Self::InvalidAuthToken => EtcdErrorCode::Unauthenticated,
            Self::PermissionDenied => EtcdErrorCode::PermissionDenied,
        }
    }

    /// Decodes a server's status. Revisions inside are [`Revision::NONE`], because the text does not contain them.
    pub fn of_status(status: &Status) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| {
            refusal.code() == status.code() && refusal.to_string() == status.message()
        })
    }
}

impl From<ReadError> for EtcdError {
    fn from(error: ReadError) -> Self {
        Self::Write(error.into())
    }
}

impl From<EtcdError> for Status {
    fn from(refusal: EtcdError) -> Self {
        Self::new(refusal.code(), refusal.to_string())
    }
}

fn code(code: Code) -> EtcdErrorCode {
    match code {
        Code::InvalidArgument => EtcdErrorCode::InvalidArgument,
        Code::OutOfRange => EtcdErrorCode::OutOfRange,
        Code::NotFound => EtcdErrorCode::NotFound,
        Code::FailedPrecondition => EtcdErrorCode::FailedPrecondition,
        Code::ResourceExhausted => EtcdErrorCode::ResourceExhausted,
        Code::DataLoss => EtcdErrorCode::DataLoss,
    }
}
