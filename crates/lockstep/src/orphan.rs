//! Servers that end with the process that started them.

use std::time::Duration;

use rustix::process::{Pid, getppid};

/// Set to 1, a server ends when its parent does.
pub(crate) const VARIABLE: &str = "LOCKSTEP_DIE_WITH_PARENT";
/// Interval at which a server checks that its parent process still exists.
const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// The process that started this one, if this one is to end with it.
#[derive(Clone, Copy)]
pub(crate) struct Parent(Option<Pid>);

impl Parent {
    /// Records the current parent. Call this first in `main`, before the parent can exit and be replaced by init.
    pub(crate) fn now() -> Self {
        let is_wanted = std::env::var_os(VARIABLE).is_some_and(|value| value == "1");
        Self(if is_wanted { getppid() } else { None })
    }

    /// Done when the parent is gone; never if this process may outlive it.
    pub(crate) async fn gone(self) {
        let Self(Some(parent)) = self else {
            return std::future::pending().await;
        };
        while getppid() == Some(parent) {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        tracing::info!("the process that started this one is gone");
    }
}
