//! Metrics of priority and fairness, under upstream's names.

use std::sync::OnceLock;
use std::time::Duration;

use lockstep_fairness::{Classifier, Flow, LevelReport, Limits, Work};
use prometheus::proto::MetricFamily;
use prometheus::{Histogram, IntCounter, IntGauge};
use tokio::time::Instant;

use crate::clock;
use crate::metrics::{FairnessMeters, gauges};

/// Metrics of one flow. They exist from its first request on.
pub(super) struct FlowMeters {
    all: FairnessMeters,
    labels: [String; 2],
    own: OnceLock<Own>,
}

struct Own {
    dispatched: IntCounter,
    queued: IntGauge,
    queued_seats: IntGauge,
    executing: IntGauge,
    executing_seats: IntGauge,
    waited: Histogram,
    execution: [Histogram; 2],
    estimated_seats: Histogram,
}

/// Counts a request as waiting until it is dropped.
pub(super) struct Waiting {
    requests: IntGauge,
    seats: IntGauge,
    number: i64,
}

/// Counts a request as executing until it is dropped.
pub(crate) struct Executing {
    requests: IntGauge,
    seats: IntGauge,
    number: i64,
    seconds: Histogram,
    began: Instant,
}

impl FlowMeters {
    pub(super) fn new(all: &FairnessMeters, flow: &Flow) -> Self {
        Self {
            all: all.clone(),
            labels: labels(flow),
            own: OnceLock::new(),
        }
    }

    fn own(&self) -> &Own {
        self.own.get_or_init(|| {
            let all = &self.all;
            let pair = self.labels.each_ref().map(String::as_str);
            let with = |last| [pair[0], pair[1], last];
            let execution = |kind| all.execution_seconds.with_label_values(&with(kind));
            Own {
                dispatched: all.dispatched.with_label_values(&pair),
                queued: all.queued.with_label_values(&pair),
                queued_seats: all.queued_seats.with_label_values(&pair),
                executing: all.executing.with_label_values(&pair),
                executing_seats: all.executing_seats.with_label_values(&pair),
                waited: all.wait_seconds.with_label_values(&with("true")),
                execution: ["regular", "watch"].map(execution),
                estimated_seats: all.estimated_seats.with_label_values(&pair),
            }
        })
    }

    /// Counts the wait of a request that was not exempt.
    pub(super) fn waited(&self, executed: bool, waited: Duration) {
        let seconds = waited.as_secs_f64();
        if executed {
            self.own().waited.observe(seconds);
            return;
        }
        let [level, schema] = self.labels.each_ref().map(String::as_str);
        let timer = &self.all.wait_seconds;
        timer
            .with_label_values(&[level, schema, "false"])
            .observe(seconds);
    }

    pub(super) fn queued(&self, work: Work) -> Waiting {
        let own = self.own();
        let number = i64::from(work.seats_max());
        own.queued.inc();
        own.queued_seats.add(number);
        Waiting {
            requests: own.queued.clone(),
            seats: own.queued_seats.clone(),
            number,
        }
    }

    pub(super) fn executing(&self, work: Work, is_watch: bool) -> Executing {
        let own = self.own();
        let number = i64::from(work.seats_max());
        own.dispatched.inc();
        own.executing.inc();
        own.executing_seats.add(number);
        own.estimated_seats.observe(f64::from(work.seats_max()));
        Executing {
            requests: own.executing.clone(),
            seats: own.executing_seats.clone(),
            number,
            seconds: own.execution[usize::from(is_watch)].clone(),
            began: clock::now().steady,
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.requests.dec();
        self.seats.sub(self.number);
    }
}

impl Drop for Executing {
    fn drop(&mut self) {
        self.requests.dec();
        self.seats.sub(self.number);
        let took = clock::now().steady - self.began;
        self.seconds.observe(took.as_secs_f64());
    }
}

/// Removes the series of flows that are no longer there, so that they do not pile up.
pub(super) fn forget(meters: &FairnessMeters, before: &Classifier, now: &Classifier) {
    let living: Vec<[String; 2]> = now.flows().iter().map(labels).collect();
    for gone in before.flows().iter().map(labels) {
        if !living.contains(&gone) {
            meters.forget(gone.each_ref().map(String::as_str));
        }
    }
}

fn labels(flow: &Flow) -> [String; 2] {
    [flow.level.name.clone(), flow.schema.name.clone()]
}

/// Seats of the levels.
pub(super) fn families(reports: &[LevelReport]) -> Vec<MetricFamily> {
    let family = |name: &str, help: &str, value: fn(&Limits) -> u32| {
        let samples = reports.iter().map(|report| {
            let label = ("priority_level".to_owned(), report.name.clone());
            (vec![label], f64::from(value(&report.limits)))
        });
        gauges(name, help, samples.collect())
    };
    vec![
        family(
            "apiserver_flowcontrol_nominal_limit_seats",
            "[BETA] Nominal number of execution seats configured for each priority level",
            |limits| limits.nominal,
        ),
        family(
            "apiserver_flowcontrol_lower_limit_seats",
            "[ALPHA] Configured lower bound on number of execution seats available to each priority level",
            |limits| limits.lower,
        ),
        family(
            "apiserver_flowcontrol_upper_limit_seats",
            "[ALPHA] Configured upper bound on number of execution seats available to each priority level",
            |limits| limits.upper,
        ),
        family(
            "apiserver_flowcontrol_current_limit_seats",
            "[ALPHA] current derived number of execution seats available to each priority level",
            |limits| limits.current,
        ),
    ]
}
