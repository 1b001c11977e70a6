//! Metrics of the webhook in the Prometheus text format.

use std::time::Duration;

use jiff::Timestamp;
use lockstep_admission::outcome::Outcome;
use prometheus::core::Collector;
use prometheus::{
    Encoder as _, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec,
    Opts, Registry, TextEncoder,
};

use crate::answer::{Phase, Verdict};

/// Media type of the text format.
pub(crate) const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// Metrics of reviews and of loading policies.
pub struct Metrics {
    registry: Registry,
    reviews: IntCounterVec,
    seconds: HistogramVec,
    checks: IntCounterVec,
    pub(crate) under_way: IntGauge,
    pub(crate) rejected: IntCounter,
    pub(crate) panics: IntCounter,
    loads: IntCounterVec,
    policies: IntGaugeVec,
    loaded_at: IntGauge,
    certificate_expires: IntGauge,
}

impl Default for Metrics {
    fn default() -> Self {
        let registry = Registry::new();
        let counters = |name: &str, help: &str, labels: &[&str]| {
            let made = IntCounterVec::new(Opts::new(name, help), labels);
            registered(&registry, made)
        };
        let gauge = |name: &str, help: &str| registered(&registry, IntGauge::new(name, help));
        let counter = |name: &str, help: &str| registered(&registry, IntCounter::new(name, help));
        Self {
            reviews: counters(
                "lockstep_policy_webhook_reviews_total",
                "Reviews by phase and verdict.",
                &["phase", "verdict"],
            ),
            seconds: {
                let name = "lockstep_policy_webhook_review_duration_seconds";
                let options = HistogramOpts::new(name, "Time to evaluate a review, by phase.");
                let options = options.buckets(SECONDS.to_vec());
                registered(&registry, HistogramVec::new(options, &["phase"]))
            },
            checks: counters(
                "lockstep_policy_webhook_checks_total",
                "Mutations and validations by policy and class of error.",
                &["policy", "error_type"],
            ),
            under_way: gauge(
                "lockstep_policy_webhook_reviews_under_way",
                "Reviews that are read, evaluated or answered.",
            ),
            rejected: counter(
                "lockstep_policy_webhook_rejected_total",
                "Requests that found no place among the reviews in time.",
            ),
            panics: counter(
                "lockstep_policy_webhook_panics_total",
                "Evaluations that a bug ended.",
            ),
            loads: counters(
                "lockstep_policy_webhook_loads_total",
                "Attempts to load policies by result.",
                &["result"],
            ),
            policies: registered(
                &registry,
                IntGaugeVec::new(
                    Opts::new(
                        "lockstep_policy_webhook_policies",
                        "Bound policies in force by kind.",
                    ),
                    &["kind"],
                ),
            ),
            loaded_at: gauge(
                "lockstep_policy_webhook_loaded_timestamp_seconds",
                "Time at which the policies in force were loaded.",
            ),
            certificate_expires: gauge(
                "lockstep_policy_webhook_certificate_expiration_timestamp_seconds",
                "Time at which the serving certificate expires.",
            ),
            registry,
        }
    }
}

impl Metrics {
    pub(crate) fn reviewed(
        &self,
        phase: Phase,
        verdict: Verdict,
        outcome: &Outcome,
        took: Duration,
    ) {
        let phase = match phase {
            Phase::Mutate => "mutate",
            Phase::Validate => "validate",
        };
        let labels = [phase, verdict.as_str()];
        self.reviews.with_label_values(&labels).inc();
        let seconds = self.seconds.with_label_values(&[phase]);
        seconds.observe(took.as_secs_f64());
        for check in &outcome.checks {
            let labels = [&*check.policy, check.class.as_str()];
            self.checks.with_label_values(&labels).inc();
        }
    }

    pub(crate) fn loaded(&self, mutating: usize, validating: usize, now: Timestamp) {
        self.loads.with_label_values(&["success"]).inc();
        for (kind, count) in [("mutating", mutating), ("validating", validating)] {
            let gauge = self.policies.with_label_values(&[kind]);
            gauge.set(i64::try_from(count).unwrap_or(i64::MAX));
        }
        // Names of policies that are gone would stay for ever.
        self.checks.reset();
        self.loaded_at.set(now.as_second());
    }

    pub(crate) fn not_loaded(&self) {
        self.loads.with_label_values(&["failure"]).inc();
    }

    /// Notes when the serving certificate expires.
    pub fn certificate_expires(&self, at: Timestamp) {
        self.certificate_expires.set(at.as_second());
    }

    pub(crate) fn as_text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        let written = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        written.expect("metrics are written to memory");
        text
    }
}

fn registered<C: Collector + Clone + 'static>(
    registry: &Registry,
    made: prometheus::Result<C>,
) -> C {
    let made = made.expect("the name of a metric is valid");
    let boxed = Box::new(made.clone());
    registry.register(boxed).expect("each metric is made once");
    made
}
