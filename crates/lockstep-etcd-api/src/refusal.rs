//! Every reason to refuse a request, by the code and the text that clients match on.

use lockstep_mvcc::{Code, ReadError, RequestError, Revision, WriteError};
use tonic::Status;

/// The status code of a refusal.
pub type RefusalCode = tonic::Code;

/// Why a server does not do what it was asked. The text is etcd's, word for word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The request is wrong whatever the store holds.
    #[error(transparent)]
    Wrong(#[from] RequestError),
    /// The store is not as the request needs it.
    #[error(transparent)]
    Refused(#[from] WriteError),
    /// A sort order or target that does not exist.
    #[error("etcdserver: invalid sort option")]
    InvalidSortOption,
    /// A compare whose result or target does not exist.
    #[error("etcdserver: invalid compare option")]
    InvalidCompareOption,
    /// More bytes than a request may have.
    #[error("etcdserver: request is too large")]
    RequestTooLarge,
    /// The version that a client announces is no text.
    #[error("etcdserver: invalid client api version")]
    InvalidClientVersion,
    /// Too much is waiting.
    #[error("etcdserver: too many requests")]
    TooManyRequests,
    /// A member by this id does not exist.
    #[error("etcdserver: member not found")]
    MemberNotFound,
    /// Leadership cannot go there.
    #[error("etcdserver: bad leader transferee")]
    BadLeaderTransferee,
    /// The request has to go to the leader.
    #[error("etcdserver: not leader")]
    NotLeader,
    /// Nobody leads.
    #[error("etcdserver: no leader")]
    NoLeader,
    /// The leader changed while the request was under way.
    #[error("etcdserver: leader changed")]
    LeaderChanged,
    /// The server is about to end.
    #[error("etcdserver: server stopped")]
    Stopped,
    /// The outcome did not come in time; it may still happen.
    #[error("etcdserver: request timed out")]
    TimedOut,
    /// A token that nobody gave out, or one that is too old.
    #[error("etcdserver: invalid auth token")]
    InvalidAuthToken,
    /// The user may not do this.
    #[error("etcdserver: permission denied")]
    PermissionDenied,
    /// There is nothing to authenticate against.
    #[error("etcdserver: authentication is not enabled")]
    AuthNotEnabled,
}

impl Refusal {
    /// Every refusal; revisions inside are [`Revision::NONE`].
    pub const ALL: [Self; 28] = [
        Self::Wrong(RequestError::EmptyKey),
        Self::Wrong(RequestError::ValueProvided),
        Self::Wrong(RequestError::LeaseProvided),
        Self::Wrong(RequestError::TooManyOps),
        Self::Wrong(RequestError::DuplicateKey),
        Self::Wrong(RequestError::LeaseTtlTooLarge),
        Self::Refused(WriteError::Read(ReadError::Compacted {
            compacted: Revision::NONE,
        })),
        Self::Refused(WriteError::Read(ReadError::FutureRevision {
            current: Revision::NONE,
        })),
        Self::Refused(WriteError::KeyNotFound),
        Self::Refused(WriteError::LeaseNotFound),
        Self::Refused(WriteError::LeaseExists),
        Self::Refused(WriteError::NoSpace),
        Self::Refused(WriteError::Corrupt),
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

    /// The code that goes with the text.
    pub fn code(self) -> RefusalCode {
        match self {
            Self::Wrong(error) => code(error.code()),
            Self::Refused(error) => code(error.code()),
            Self::InvalidSortOption
            | Self::InvalidCompareOption
            | Self::RequestTooLarge
            | Self::InvalidClientVersion => RefusalCode::InvalidArgument,
            Self::TooManyRequests => RefusalCode::ResourceExhausted,
            Self::MemberNotFound => RefusalCode::NotFound,
            Self::BadLeaderTransferee | Self::NotLeader | Self::AuthNotEnabled => {
                RefusalCode::FailedPrecondition
            }
            Self::NoLeader | Self::LeaderChanged | Self::Stopped | Self::TimedOut => {
                RefusalCode::Unavailable
            }
            Self::InvalidAuthToken => RefusalCode::Unauthenticated,
            Self::PermissionDenied => RefusalCode::PermissionDenied,
        }
    }

    /// The refusal that a server's status stands for. Revisions inside are [`Revision::NONE`],
    /// since the text does not tell them.
    pub fn of_status(status: &Status) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| {
            refusal.code() == status.code() && refusal.to_string() == status.message()
        })
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.code(), refusal.to_string())
    }
}

fn code(code: Code) -> RefusalCode {
    match code {
        Code::InvalidArgument => RefusalCode::InvalidArgument,
        Code::OutOfRange => RefusalCode::OutOfRange,
        Code::NotFound => RefusalCode::NotFound,
        Code::FailedPrecondition => RefusalCode::FailedPrecondition,
        Code::ResourceExhausted => RefusalCode::ResourceExhausted,
        Code::DataLoss => RefusalCode::DataLoss,
    }
}
