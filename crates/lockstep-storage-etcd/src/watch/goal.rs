//! How far a reader wants to hear that its watch has come.

use std::time::Duration;

use lockstep_storage::Revision;
use tokio::time::Instant;

/// How long until a member is asked again that was not far enough.
const ASK_AGAIN: Duration = Duration::from_millis(100);

/// What is still to be done until progress can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    /// Nobody asked.
    None,
    /// The present is to be found out.
    Asked { due: Instant },
    /// The member says when it has sent everything up to `target`.
    Told { target: Revision, due: Instant },
    /// Everything up to `target` is delivered once `owed` is, which is the newest change among it.
    Owed { target: Revision, owed: Revision },
}

impl Goal {
    pub(super) fn asked_now() -> Self {
        Self::Asked {
            due: Instant::now(),
        }
    }

    pub(super) fn asked_again() -> Self {
        Self::Asked {
            due: Instant::now() + ASK_AGAIN,
        }
    }

    pub(super) fn told_now(target: Revision) -> Self {
        Self::Told {
            target,
            due: Instant::now(),
        }
    }

    pub(super) fn told_again(target: Revision) -> Self {
        Self::Told {
            target,
            due: Instant::now() + ASK_AGAIN,
        }
    }

    /// When there is something to do about it.
    pub(super) fn due(self) -> Option<Instant> {
        match self {
            Self::Asked { due } | Self::Told { due, .. } => Some(due),
            Self::None | Self::Owed { .. } => None,
        }
    }
}
