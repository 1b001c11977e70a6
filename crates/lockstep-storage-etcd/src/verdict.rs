//! What an error means: whether something happened, and whether to ask another member.

use std::error::Error;

use lockstep_etcd_api::{Refusal, RefusalCode};
use lockstep_storage::{
    ReadError, ReadFailure, RequestError, Unavailable, WriteError, WriteFailure,
};
use tonic::Status;

use crate::connection::Broken;

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The request is wrong whatever the store holds.
    Wrong(RequestError),
    /// The store is not as the request needs it. Revisions inside are not known yet.
    Refused(WriteError),
    /// Nothing happened and nothing will.
    NotDone {
        reason: String,
        elsewhere: Elsewhere,
    },
    /// It may have happened, or may still.
    Unknown { reason: String },
}

/// Whether another member may do what this one did not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Elsewhere {
    MayHelp,
    IsTheSame,
}

impl Verdict {
    /// The verdict on an error of the member at `url`.
    pub(crate) fn of(status: &Status, url: &str) -> Self {
        if let Some(broken) = broken(status) {
            let reason = format!("`{url}`: {broken}");
            return if broken.is_sent {
                Self::Unknown { reason }
            } else {
                Self::not_done(reason, Elsewhere::MayHelp)
            };
        }
        let reason = format!("`{url}`: {}", told(status));
        match Refusal::of_status(status) {
            Some(refusal) => Self::of_refusal(refusal, reason),
            None => Self::of_code(status, reason),
        }
    }

    fn of_refusal(refusal: Refusal, reason: String) -> Self {
        match refusal {
            Refusal::Wrong(error) => Self::Wrong(error),
            // The write that crosses the quota is carried out, and answered like those that are
            // refused after it.
            Refusal::Refused(WriteError::NoSpace) => Self::Unknown { reason },
            Refusal::Refused(error) => Self::Refused(error),
            // Told before the request goes into the log.
            Refusal::NoLeader | Refusal::TooManyRequests => {
                Self::not_done(reason, Elsewhere::MayHelp)
            }
            Refusal::InvalidSortOption
            | Refusal::InvalidCompareOption
            | Refusal::RequestTooLarge
            | Refusal::InvalidClientVersion
            | Refusal::MemberNotFound
            | Refusal::BadLeaderTransferee
            | Refusal::NotLeader
            | Refusal::InvalidAuthToken
            | Refusal::PermissionDenied
            | Refusal::AuthNotEnabled => Self::not_done(reason, Elsewhere::IsTheSame),
            Refusal::LeaderChanged | Refusal::Stopped | Refusal::TimedOut => {
                Self::Unknown { reason }
            }
        }
    }

    /// A text that we do not know: its code counts only if etcd's own words show that it was etcd
    /// who chose it, and not somebody on the way.
    fn of_code(status: &Status, reason: String) -> Self {
        let text = status.message();
        let is_etcds = text.starts_with("etcdserver: ");
        match status.code() {
            RefusalCode::InvalidArgument
            | RefusalCode::FailedPrecondition
            | RefusalCode::NotFound
            | RefusalCode::PermissionDenied
            | RefusalCode::Unauthenticated
                if is_etcds =>
            {
                Self::not_done(reason, Elsewhere::IsTheSame)
            }
            RefusalCode::Unimplemented => Self::not_done(reason, Elsewhere::IsTheSame),
            RefusalCode::ResourceExhausted if text.starts_with("grpc: received message larger") => {
                Self::not_done(reason, Elsewhere::IsTheSame)
            }
            _ => Self::Unknown { reason },
        }
    }

    pub(crate) fn not_done(reason: String, elsewhere: Elsewhere) -> Self {
        Self::NotDone { reason, elsewhere }
    }

    /// What a reader hears.
    pub(crate) fn of_read(self) -> ReadFailure {
        match self {
            Self::Refused(WriteError::Read(error)) => error.into(),
            Self::Wrong(error) => unavailable(error.to_string()).into(),
            Self::Refused(error) => unavailable(error.to_string()).into(),
            Self::NotDone { reason, .. } | Self::Unknown { reason } => unavailable(reason).into(),
        }
    }

    /// What a writer hears.
    pub(crate) fn of_write(self) -> WriteFailure {
        match self {
            Self::Wrong(error) => error.into(),
            Self::Refused(error) => error.into(),
            Self::NotDone { reason, .. } => unavailable(reason).into(),
            Self::Unknown { reason } => WriteFailure::Uncertain { reason },
        }
    }

    /// What somebody hears whose request writes nothing, in the words of a writer.
    pub(crate) fn of_harmless(self) -> WriteFailure {
        match self {
            Self::Unknown { reason } => unavailable(reason).into(),
            Self::Wrong(_) | Self::Refused(_) | Self::NotDone { .. } => self.of_write(),
        }
    }

    /// The refused read inside, which asks for its revision.
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

/// A status in words. The text of one that the HTTP layer made up is not enough.
pub(crate) fn told(status: &Status) -> String {
    let mut told = status.message().to_owned();
    if told.is_empty() {
        told = status.code().to_string();
    }
    let mut source = status.source();
    while let Some(cause) = source {
        told = format!("{told}: {cause}");
        source = cause.source();
    }
    told
}

pub(crate) fn unavailable(reason: String) -> Unavailable {
    Unavailable { reason }
}

#[cfg(test)]
mod tests {
    use lockstep_storage::Revision;

    use super::*;

    const URL: &str = "http://a:1";

    fn of(code: RefusalCode, text: &str) -> Verdict {
        Verdict::of(&Status::new(code, text), URL)
    }

    fn unknown(text: &str) -> Verdict {
        Verdict::Unknown {
            reason: format!("`{URL}`: {text}"),
        }
    }

    fn not_done(text: &str, elsewhere: Elsewhere) -> Verdict {
        Verdict::not_done(format!("`{URL}`: {text}"), elsewhere)
    }

    #[test]
    fn etcds_refusals_are_definite() {
        let compacted = ReadError::Compacted {
            compacted: Revision::NONE,
        };
        let text = "etcdserver: mvcc: required revision has been compacted";
        let expected = Verdict::Refused(WriteError::Read(compacted));
        assert_eq!(of(RefusalCode::OutOfRange, text), expected);
        let text = "etcdserver: duplicate key given in txn request";
        let expected = Verdict::Wrong(RequestError::DuplicateKey);
        assert_eq!(of(RefusalCode::InvalidArgument, text), expected);
        for (code, text, elsewhere) in [
            (
                RefusalCode::Unavailable,
                "etcdserver: no leader",
                Elsewhere::MayHelp,
            ),
            (
                RefusalCode::ResourceExhausted,
                "etcdserver: too many requests",
                Elsewhere::MayHelp,
            ),
            (
                RefusalCode::InvalidArgument,
                "etcdserver: request is too large",
                Elsewhere::IsTheSame,
            ),
            (
                RefusalCode::ResourceExhausted,
                "grpc: received message larger than max (2 vs. 1)",
                Elsewhere::IsTheSame,
            ),
            (
                RefusalCode::PermissionDenied,
                "etcdserver: permission denied",
                Elsewhere::IsTheSame,
            ),
            (
                RefusalCode::FailedPrecondition,
                "etcdserver: rpc not supported for learner",
                Elsewhere::IsTheSame,
            ),
            (RefusalCode::Unimplemented, "what?", Elsewhere::IsTheSame),
        ] {
            assert_eq!(of(code, text), not_done(text, elsewhere), "{text}");
        }
    }

    /// etcd-api.md §7/uncertain: a write that timed out may still commit.
    #[test]
    fn everything_else_may_have_happened() {
        for (code, text) in [
            (RefusalCode::Unavailable, "etcdserver: request timed out"),
            (RefusalCode::Unavailable, "etcdserver: leader changed"),
            (RefusalCode::Unavailable, "etcdserver: server stopped"),
            (
                RefusalCode::Unavailable,
                "etcdserver: request timed out, possibly due to connection lost",
            ),
            (
                RefusalCode::ResourceExhausted,
                "etcdserver: mvcc: database space exceeded",
            ),
            (RefusalCode::Unknown, "raft proposal dropped"),
            (RefusalCode::Unavailable, "transport is closing"),
            (RefusalCode::DeadlineExceeded, "context deadline exceeded"),
            (RefusalCode::OutOfRange, "decoded message length too large"),
            (RefusalCode::NotFound, "no such page"),
        ] {
            assert_eq!(of(code, text), unknown(text), "{text}");
        }
    }

    #[test]
    fn a_writer_hears_of_doubt_and_a_reader_does_not() {
        let reason = "r".to_owned();
        let unknown = Verdict::Unknown {
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
            unknown.clone().of_harmless(),
            WriteFailure::Unavailable(unavailable.clone())
        );
        assert_eq!(unknown.of_read(), ReadFailure::Unavailable(unavailable));
    }
}
