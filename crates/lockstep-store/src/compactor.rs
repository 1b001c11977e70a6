//! Automatic compaction, with etcd's periodic and revision modes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lockstep_mvcc::{Command, Revision};

use crate::member::Member;

/// Revision samples taken in a period.
const SAMPLES_PER_PERIOD: u32 = 10;
/// Interval of checks in revision mode.
const REVISION_INTERVAL: Duration = Duration::from_secs(5 * 60);

/// Retention mode of automatic compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AutoCompaction {
    /// Keeps the history of this duration.
    Periodic(Duration),
    /// Keeps this many revisions.
    Revision(u64),
}

/// The retention is not a valid duration or number.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("auto compaction retention `{retention}` is no {expected}")]
pub struct InvalidRetention {
    retention: String,
    expected: &'static str,
}

impl AutoCompaction {
    /// Parses the mode and retention flags; 0 disables compaction. `duration` parses durations with units.
    pub fn of_flags(
        mode: &str,
        retention: &str,
        duration: impl Fn(&str) -> Option<Duration>,
    ) -> Result<Option<Self>, InvalidRetention> {
        let invalid = |expected| InvalidRetention {
            retention: retention.to_owned(),
            expected,
        };
        let number = retention.parse::<u64>();
        match (mode, number) {
            (_, Ok(0)) => Ok(None),
            ("periodic" | "", Ok(hours)) => {
                let period = Duration::from_secs(hours.saturating_mul(3600));
                Ok(Some(Self::Periodic(period)))
            }
            ("periodic" | "", Err(_)) => {
                let period =
                    duration(retention).ok_or_else(|| invalid("duration or number of hours"))?;
                Ok((!period.is_zero()).then_some(Self::Periodic(period)))
            }
            ("revision", Ok(revisions)) => Ok(Some(Self::Revision(revisions))),
            ("revision", Err(_)) => Err(invalid("number of revisions")),
            _ => Err(invalid(
                "retention of a mode that exists (periodic, revision)",
            )),
        }
    }

    fn interval(self) -> Duration {
        match self {
            Self::Periodic(period) => period / SAMPLES_PER_PERIOD,
            Self::Revision(_) => REVISION_INTERVAL,
        }
    }
}

/// Decides the compaction revision at each tick. Uses no clock.
struct Plan {
    mode: AutoCompaction,
    samples: VecDeque<Revision>,
}

impl Plan {
    fn new(mode: AutoCompaction) -> Self {
        let samples = VecDeque::new();
        Self { mode, samples }
    }

    /// The revision to compact at, if any.
    fn look(&mut self, current: Revision, compacted: Revision) -> Option<Revision> {
        let at = match self.mode {
            AutoCompaction::Revision(kept) => Revision(current.0.saturating_sub(kept)),
            AutoCompaction::Periodic(_) => {
                self.samples.push_back(current);
                if self.samples.len() <= SAMPLES_PER_PERIOD as usize {
                    return None;
                }
                self.samples.pop_front()?
            }
        };
        (at > compacted && at <= current).then_some(at)
    }
}

/// Runs automatic compaction until shutdown.
pub(crate) async fn run(member: Arc<Member>, mode: AutoCompaction) {
    let mut plan = Plan::new(mode);
    let interval = mode.interval().max(Duration::from_millis(1));
    let stopping = member.stopping.token().clone();
    while stopping
        .run_until_cancelled(tokio::time::sleep(interval))
        .await
        .is_some()
    {
        let look = |machine: &lockstep_mvcc::Machine| (machine.revision(), machine.compacted());
        let (current, compacted) = member.live().inspect(look);
        let Some(at) = plan.look(current, compacted) else {
            continue;
        };
        match member.propose(Command::Compact { at }, None).await {
            Ok(_) => {
                member.metrics.compactions.add(1);
                tracing::info!(revision = at.0, "compacted");
            }
            Err(status) => tracing::warn!(error = status.message(), "compaction failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_flags(mode: &str, retention: &str) -> Result<Option<AutoCompaction>, String> {
        let duration = |text: &str| {
            text.strip_suffix('m')?
                .parse()
                .ok()
                .map(|minutes: u64| Duration::from_secs(60 * minutes))
        };
        AutoCompaction::of_flags(mode, retention, duration).map_err(|error| error.to_string())
    }

    #[test]
    fn a_bare_number_is_hours_or_revisions_by_the_mode() {
        // etcd-api.md §8/auto-compaction.
        let hours = |hours: u64| {
            Ok(Some(AutoCompaction::Periodic(Duration::from_secs(
                3600 * hours,
            ))))
        };
        assert_eq!(of_flags("periodic", "72"), hours(72));
        assert_eq!(of_flags("", "1"), hours(1));
        let half = Duration::from_secs(1800);
        assert_eq!(
            of_flags("periodic", "30m"),
            Ok(Some(AutoCompaction::Periodic(half)))
        );
        assert_eq!(
            of_flags("revision", "1000"),
            Ok(Some(AutoCompaction::Revision(1000)))
        );
        for mode in ["periodic", "revision"] {
            assert_eq!(of_flags(mode, "0"), Ok(None));
        }
        assert_eq!(
            of_flags("revision", "5m"),
            Err("auto compaction retention `5m` is no number of revisions".to_owned())
        );
        assert_eq!(
            of_flags("periodic", "soon"),
            Err("auto compaction retention `soon` is no duration or number of hours".to_owned())
        );
    }

    #[test]
    fn a_period_forgets_what_was_current_a_period_ago() {
        let mut plan = Plan::new(AutoCompaction::Periodic(Duration::from_secs(3600)));
        let mut looks = (1..=13).map(|at| plan.look(Revision(at * 10), Revision::NONE));
        let at: Vec<_> = looks.by_ref().collect();
        let mut expected = vec![None; 10];
        expected.extend([10, 20, 30].map(|at| Some(Revision(at))));
        assert_eq!(at, expected);
    }

    #[test]
    fn revisions_beyond_the_kept_ones_are_forgotten_once() {
        let mut plan = Plan::new(AutoCompaction::Revision(100));
        assert_eq!(plan.look(Revision(100), Revision::NONE), None);
        assert_eq!(plan.look(Revision(150), Revision::NONE), Some(Revision(50)));
        assert_eq!(plan.look(Revision(150), Revision(50)), None);
    }
}
