//! State of a progress request.

use std::time::Duration;

use lockstep_storage::Revision;
use tokio::time::Instant;

/// Delay before progress is requested again from a lagging member.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// Steps towards a progress message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    /// No progress is requested.
    None,
    /// The current revision has to be read.
    ReadCurrent { due: Instant },
    /// The member reports when it has sent everything up to `target`.
    MemberReports { target: Revision, due: Instant },
    /// Everything up to `target` is delivered once `owed`, the newest matching change, is.
    Owed { target: Revision, owed: Revision },
}

impl Goal {
    pub(super) fn asked_now() -> Self {
        Self::ReadCurrent {
            due: Instant::now(),
        }
    }

    pub(super) fn asked_again() -> Self {
        Self::ReadCurrent {
            due: Instant::now() + ASK_AGAIN,
        }
    }

    pub(super) fn told_now(target: Revision) -> Self {
        Self::MemberReports {
            target,
            due: Instant::now(),
        }
    }

    pub(super) fn told_again(target: Revision) -> Self {
        Self::MemberReports {
            target,
            due: Instant::now() + ASK_AGAIN,
        }
    }

    /// Time of the next step.
    pub(super) fn due(self) -> Option<Instant> {
        match self {
            Self::ReadCurrent { due } | Self::MemberReports { due, .. } => Some(due),
            Self::None | Self::Owed { .. } => None,
        }
    }
}
