//! Whether the store can write.
//!
//! The writer and the checkpoint thread report outages here: a full disk, for example. While there is one, writes are
//! refused, reads continue, and the thread that failed tries again once in each interval.

use std::io;

use lockstep_mvcc::WriteError;
use lockstep_storage::{Unavailable, WriteFailure};
use parking_lot::Mutex;

use crate::state::StateError;

/// Part of the store that writes files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Log,
    State,
}

/// Reason why the store cannot write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outage {
    reason: String,
    is_disk_full: bool,
}

/// Outages of both parts.
#[derive(Default)]
pub(crate) struct Condition(Mutex<Outages>);

#[derive(Default)]
struct Outages {
    log: Option<Outage>,
    state: Option<Outage>,
}

impl Outage {
    /// Outage of the log.
    pub(crate) fn of_log(error: &io::Error) -> Self {
        Self {
            reason: format!("writing the log failed: {error}"),
            is_disk_full: is_full(error),
        }
    }

    /// Outage of the state.
    pub(crate) fn of_state(error: &StateError) -> Self {
        Self {
            reason: format!("writing the state failed: {error}"),
            is_disk_full: error.as_io().is_some_and(is_full),
        }
    }

    /// The error of a write that did not happen.
    pub(crate) fn refusal(&self) -> WriteFailure {
        if self.is_disk_full {
            return WriteError::NoSpace.into();
        }
        let reason = self.reason.clone();
        WriteFailure::Unavailable(Unavailable { reason })
    }

    /// The error of a write that may have happened.
    pub(crate) fn uncertainty(&self) -> WriteFailure {
        let reason = self.reason.clone();
        WriteFailure::Uncertain { reason }
    }

    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }
}

impl Condition {
    /// The outage, if there is one.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let outages = self.0.lock();
        outages.log.as_ref().or(outages.state.as_ref()).cloned()
    }

    pub(crate) fn fail(&self, part: Part, outage: Outage) {
        let mut outages = self.0.lock();
        if outages.is_none() {
            let reason = &outage.reason;
            tracing::error!(
                reason,
                "the store refuses writes until it can write to disk again"
            );
        }
        *outages.of(part) = Some(outage);
    }

    pub(crate) fn recover(&self, part: Part) {
        let mut outages = self.0.lock();
        let was_failing = outages.of(part).take().is_some();
        if was_failing && outages.is_none() {
            tracing::info!("the store writes to disk again");
        }
    }
}

impl Outages {
    fn of(&mut self, part: Part) -> &mut Option<Outage> {
        match part {
            Part::Log => &mut self.log,
            Part::State => &mut self.state,
        }
    }

    fn is_none(&self) -> bool {
        self.log.is_none() && self.state.is_none()
    }
}

/// True if the disk, its quota or the file is full.
fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}
