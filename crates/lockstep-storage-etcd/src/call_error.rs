//! Classification of errors: whether the request was applied, and whether to retry on another member.

use std::error::Error;

use lockstep_etcd_api::{EtcdError, EtcdErrorCode};
use lockstep_storage::{
    ReadError, ReadFailure, RequestError, Unavailable, WriteError, WriteFailure,
};
use tonic::Status;

use crate::connection::Broken;

/// Failure of one call to a member, before it is classified.
#[derive(Debug)]
pub(crate) enum MemberFailure {
    /// The status that the member, or the connection to it, reports.
    Status(Status),
    /// The member's response is not one that etcd gives.
    Unexpected(String),
}

impl MemberFailure {
    pub(crate) fn unexpected(text: impl Into<String>) -> Self {
        Self::Unexpected(text.into())
    }
}

impl From<Status> for MemberFailure {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// Error of a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CallError {
    /// The request is invalid regardless of the store's state.
    Wrong(RequestError),
    /// The state of the store does not allow the request. Revisions inside are not known yet.
    Refused(WriteError),
    /// The request was not applied and will not be.
    NotDone {
        reason: String,
        elsewhere: RetryElsewhere,
    },
    /// The request may have been applied, or may still be.
    Unknown { reason: String },
}

/// Whether a retry on another member may succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RetryElsewhere {
    MayHelp,
    IsTheSame,
}

impl CallError {
    /// Classifies a failure of the member at `url`.
    pub(crate) fn of_failure(failure: MemberFailure, url: &str) -> Self {
        match failure {
            MemberFailure::Status(status) => Self::of(&status, url),
            MemberFailure::Unexpected(text) => Self::Unknown {
                reason: format!("`{url}`: {text}"),
            },
        }
    }

    /// Classifies an error of the member at `url`.
    pub(crate) fn of(status: &Status, url: &str) -> Self {
        if let Some(broken) = broken(status) {
            let reason = format!("`{url}`: {broken}");
            return if broken.is_sent {
                Self::Unknown { reason }
            } else {
                Self::not_done(reason, RetryElsewhere::MayHelp)
            };
        }
        let reason = format!("`{url}`: {}", describe(status));
        match EtcdError::of_status(status) {
            Some(refusal) => Self::of_refusal(refusal, reason),
            None => Self::of_code(status, reason),
        }
    }

    fn of_refusal(refusal: EtcdError, reason: String) -> Self {
        match refusal {
            EtcdError::InvalidRequest(error) => Self::Wrong(error),
            // etcd applies the write that exceeds the quota and answers it like the rejected ones after it.
            EtcdError::Write(WriteError::NoSpace) => Self::Unknown { reason },
            EtcdError::Write(error) => Self::Refused(error),
            // Reported before the request is proposed.
            EtcdError::NoLeader | EtcdError::TooManyRequests => {
                Self::not_done(reason, RetryElsewhere::MayHelp)
            }
            EtcdError::InvalidSortOption
            | EtcdError::InvalidCompareOption
            | EtcdError::RequestTooLarge
            | EtcdError::InvalidClientVersion
            | EtcdError::MemberNotFound
            | EtcdError::BadLeaderTransferee
            | EtcdError::NotLeader
            | EtcdError::InvalidAuthToken
            | EtcdError::PermissionDenied
            | EtcdError::AuthNotEnabled => Self::not_done(reason, RetryElsewhere::IsTheSame),
            EtcdError::LeaderChanged | EtcdError::Stopped | EtcdError::TimedOut => {
                Self::Unknown { reason }
            }
        }
    }

    /// Classifies an unknown message. The code is trusted only if the message shows that etcd chose it, and not a
    /// proxy on the way.
    fn of_code(status: &Status, reason: String) -> Self {
        let text = status.message();
        let is_etcds = text.starts_with("etcdserver: ");
        match status.code() {
            EtcdErrorCode::InvalidArgument
            | EtcdErrorCode::FailedPrecondition
            | EtcdErrorCode::NotFound
            | EtcdErrorCode::PermissionDenied
            | EtcdErrorCode::Unauthenticated
                if is_etcds =>
            {
                Self::not_done(reason, RetryElsewhere::IsTheSame)
            }
            EtcdErrorCode::Unimplemented => Self::not_done(reason, RetryElsewhere::IsTheSame),
            EtcdErrorCode::ResourceExhausted
                if text.starts_with("grpc: received message larger") =>
            {
                Self::not_done(reason, RetryElsewhere::IsTheSame)
            }
            _ => Self::Unknown { reason },
        }
    }

    pub(crate) fn not_done(reason: String, elsewhere: RetryElsewhere) -> Self {
        Self::NotDone { reason, elsewhere }
    }

    /// Converts to the error of a read.
    pub(crate) fn of_read(self) -> ReadFailure {
        match self {
            Self::Refused(WriteError::Read(error)) => error.into(),
            Self::Wrong(error) => unavailable(error.to_string()).into(),
            Self::Refused(error) => unavailable(error.to_string()).into(),
            Self::NotDone { reason, .. } | Self::Unknown { reason } => unavailable(reason).into(),
        }
    }

    /// Converts to the error of a write.
    pub(crate) fn of_write(self) -> WriteFailure {
        match self {
            Self::Wrong(error) => error.into(),
            Self::Refused(error) => error.into(),
            Self::NotDone { reason, .. } => unavailable(reason).into(),
            Self::Unknown { reason } => WriteFailure::Uncertain { reason },
        }
    }

    /// Converts to a write error for a request that writes nothing.
    pub(crate) fn of_idempotent(self) -> WriteFailure {
        match self {
            Self::Unknown { reason } => unavailable(reason).into(),
            Self::Wrong(_) | Self::Refused(_) | Self::NotDone { .. } => self.of_write(),
        }
    }

    /// The read error whose revision is to be filled in.
    pub(crate) fn refused_read(&mut self) -> Option<&mut ReadError> {
        match self {
            Self::Refused(WriteError::Read(error)) => Some(error),
            Self::Refused(_) | Self::Wrong(_) | Self::NotDone { .. } | Self::Unknown { .. } => None,
        }
    }
}

fn broken(status: &Status) -> Option<&Broken> {
    status.source()?.downcast_ref()
}

/// Formats a status. For errors made by the HTTP layer the message alone is not enough, so sources are added.
pub(crate) fn describe(status: &Status) -> String {
    let mut text = status.message().to_owned();
    if text.is_empty() {
        text = status.code().to_string();
    }
    let mut source = status.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

pub(crate) fn unavailable(reason: String) -> Unavailable {
    Unavailable { reason }
}

#[cfg(test)]
mod tests {
    use lockstep_storage::Revision;

    use super::*;

    const URL: &str = "http://a:1";

    fn of(code: EtcdErrorCode, text: &str) -> CallError {
        CallError::of(&Status::new(code, text), URL)
    }

    fn unknown(text: &str) -> CallError {
        CallError::Unknown {
            reason: format!("`{URL}`: {text}"),
        }
    }

    fn not_done(text: &str, elsewhere: RetryElsewhere) -> CallError {
        CallError::not_done(format!("`{URL}`: {text}"), elsewhere)
    }

    #[test]
    fn etcds_refusals_are_definite() {
        let compacted = ReadError::Compacted {
            compacted: Revision::NONE,
        };
        let text = "etcdserver: mvcc: required revision has been compacted";
        let expected = CallError::Refused(WriteError::Read(compacted));
        assert_eq!(of(EtcdErrorCode::OutOfRange, text), expected);
        let text = "etcdserver: duplicate key given in txn request";
        let expected = CallError::Wrong(RequestError::DuplicateKey);
        assert_eq!(of(EtcdErrorCode::InvalidArgument, text), expected);
        for (code, text, elsewhere) in [
            (
                EtcdErrorCode::Unavailable,
                "etcdserver: no leader",
                RetryElsewhere::MayHelp,
            ),
            (
                EtcdErrorCode::ResourceExhausted,
                "etcdserver: too many requests",
                RetryElsewhere::MayHelp,
            ),
            (
                EtcdErrorCode::InvalidArgument,
                "etcdserver: request is too large",
                RetryElsewhere::IsTheSame,
            ),
            (
                EtcdErrorCode::ResourceExhausted,
                "grpc: received message larger than max (2 vs. 1)",
                RetryElsewhere::IsTheSame,
            ),
            (
                EtcdErrorCode::PermissionDenied,
                "etcdserver: permission denied",
                RetryElsewhere::IsTheSame,
            ),
            (
                EtcdErrorCode::FailedPrecondition,
                "etcdserver: rpc not supported for learner",
                RetryElsewhere::IsTheSame,
            ),
            (
                EtcdErrorCode::Unimplemented,
                "what?",
                RetryElsewhere::IsTheSame,
            ),
        ] {
            assert_eq!(of(code, text), not_done(text, elsewhere), "{text}");
        }
    }

    /// etcd-api.md §7/uncertain: a write that timed out may still commit.
    #[test]
    fn everything_else_may_have_happened() {
        for (code, text) in [
            (EtcdErrorCode::Unavailable, "etcdserver: request timed out"),
            (EtcdErrorCode::Unavailable, "etcdserver: leader changed"),
            (EtcdErrorCode::Unavailable, "etcdserver: server stopped"),
            (
                EtcdErrorCode::Unavailable,
                "etcdserver: request timed out, possibly due to connection lost",
            ),
            (
                EtcdErrorCode::ResourceExhausted,
                "etcdserver: mvcc: database space exceeded",
            ),
            (EtcdErrorCode::Unknown, "raft proposal dropped"),
            (EtcdErrorCode::Unavailable, "transport is closing"),
            (EtcdErrorCode::DeadlineExceeded, "context deadline exceeded"),
            (
                EtcdErrorCode::OutOfRange,
                "decoded message length too large",
            ),
            (EtcdErrorCode::NotFound, "no such page"),
        ] {
            assert_eq!(of(code, text), unknown(text), "{text}");
        }
    }

    #[test]
    fn a_writer_hears_of_doubt_and_a_reader_does_not() {
        let reason = "r".to_owned();
        let unknown = CallError::Unknown {
            reason: reason.clone(),
        };
        assert_eq!(
            unknown.clone().of_write(),
            WriteFailure::Uncertain {
                reason: reason.clone()
            }
        );
        let unavailable = Unavailable { reason };
        assert_eq!(
            unknown.clone().of_idempotent(),
            WriteFailure::Unavailable(unavailable.clone())
        );
        assert_eq!(unknown.of_read(), ReadFailure::Unavailable(unavailable));
    }
}
