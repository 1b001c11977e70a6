//! Prometheus metrics under upstream's names, so that existing dashboards work. Each metric is one line of
//! [`Metrics::new`].

mod admission;
mod fairness;
mod gates;
mod meters;
mod policies;
mod process;
mod request;

use jiff::Timestamp;
use lockstep_featuregate::Gates;
use prometheus::proto::MetricFamily;
use prometheus::{
    Encoder as _, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec,
    Opts, Registry, TextEncoder, core::Collector,
};
use serde_json::Value;

pub(crate) use fairness::FairnessMeters;
pub(crate) use meters::{GateLabels, LoopMeters, Meters, WatchMeters};
pub(crate) use request::{RequestLabels, user_label};

use crate::version;

/// Media type of the Prometheus text format.
pub(crate) const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Buckets from 5 ms to one minute, as upstream.
const SECONDS: &[f64] = &[
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
];
const BYTES: &[f64] = &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

const RESOURCE: [&str; 7] = [
    "verb",
    "group",
    "version",
    "resource",
    "subresource",
    "scope",
    "component",
];

/// Metrics updated by requests and background work.
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) requests: IntCounterVec,
    pub(crate) request_seconds: HistogramVec,
    pub(crate) request_sli_seconds: HistogramVec,
    pub(crate) in_flight: IntGaugeVec,
    pub(crate) long_running: IntGaugeVec,
    pub(crate) response_bytes: HistogramVec,
    pub(crate) handshake_errors: IntCounter,
    pub(crate) authentications: IntCounterVec,
    pub(crate) user_requests: IntCounterVec,
    pub(crate) authorizations: IntCounterVec,
    pub(crate) audit_events: IntCounter,
    pub(crate) audit_errors: IntCounterVec,
    pub(crate) fairness: FairnessMeters,
    pub(crate) meters: Meters,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let table = Table(Registry::new());
        let with = |more: &[&'static str]| [&RESOURCE[..], more].concat();
        Self {
            requests: table.counters("apiserver_request_total", "[STABLE] Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.", &with(&["dry_run", "code"])),
            request_seconds: table.histograms("apiserver_request_duration_seconds", "[STABLE] Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.", &with(&["dry_run"]), SECONDS),
            request_sli_seconds: table.histograms("apiserver_request_sli_duration_seconds", "[BETA] Response latency distribution (not counting webhook duration and priority & fairness queue wait times) in seconds for each verb, group, version, resource, subresource, scope and component.", &with(&[]), SECONDS),
            in_flight: table.gauges("apiserver_current_inflight_requests", "[STABLE] Maximal number of currently used inflight request limit of this apiserver per request kind in last second.", &["request_kind"]),
            long_running: table.gauges("apiserver_longrunning_requests", "[STABLE] Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.", &with(&[])),
            response_bytes: table.histograms("apiserver_response_sizes", "[STABLE] Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.", &with(&[]), BYTES),
            handshake_errors: table.counter("apiserver_tls_handshake_errors_total", "[ALPHA] Number of requests dropped with 'TLS handshake error from' error"),
            authentications: table.counters("authentication_attempts", "[ALPHA] Counter of authenticated attempts.", &["result"]),
            user_requests: table.counters("authenticated_user_requests", "[ALPHA] Counter of authenticated requests broken out by username.", &["username"]),
            authorizations: table.counters("authorization_attempts_total", "[ALPHA] Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'.", &["result"]),
            audit_events: table.counter("apiserver_audit_event_total", "[ALPHA] Counter of audit events generated and sent to the audit backend."),
            audit_errors: table.counters("apiserver_audit_error_total", "[ALPHA] Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.", &["plugin"]),
            fairness: FairnessMeters::new(&table),
            meters: Meters::new(&table),
            registry: table.0,
        }
    }

    /// Encodes all metrics in the text format, with families that are computed at scrape time.
    pub(crate) fn text(
        &self,
        gates: &Gates,
        started: Timestamp,
        computed: Vec<MetricFamily>,
    ) -> Vec<u8> {
        let mut families = self.registry.gather();
        families.extend(gates::families(gates));
        families.extend(process::families(started));
        families.extend(computed);
        families.push(build_info(gates));
        families.sort_by(|a, b| a.name().cmp(b.name()));
        let mut text = Vec::new();
        TextEncoder::new()
            .encode(&families, &mut text)
            .expect("metrics have names and samples");
        text
    }
}

struct Table(Registry);

impl Table {
    fn add<M: Collector + Clone + 'static>(&self, metric: prometheus::Result<M>) -> M {
        let metric = metric.expect("names and labels of the table are valid");
        self.0
            .register(Box::new(metric.clone()))
            .expect("names of the table are unique");
        metric
    }

    fn counter(&self, name: &str, help: &str) -> IntCounter {
        self.add(IntCounter::new(name, help))
    }

    fn histogram(&self, name: &str, help: &str, buckets: &[f64]) -> Histogram {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.add(Histogram::with_opts(options))
    }

    fn counters(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.add(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn gauges(&self, name: &str, help: &str, labels: &[&str]) -> IntGaugeVec {
        self.add(IntGaugeVec::new(Opts::new(name, help), labels))
    }

    fn histograms(&self, name: &str, help: &str, labels: &[&str], buckets: &[f64]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
        self.add(HistogramVec::new(options, labels))
    }
}

/// Gauge family computed at scrape time.
pub(crate) fn gauges(
    name: &str,
    help: &str,
    samples: Vec<(Vec<(String, String)>, f64)>,
) -> MetricFamily {
    use prometheus::proto::{Gauge, LabelPair, Metric, MetricType};
    let mut family = MetricFamily::default();
    family.set_name(name.to_owned());
    family.set_help(help.to_owned());
    family.set_field_type(MetricType::GAUGE);
    let metrics = samples.into_iter().map(|(labels, value)| {
        let pairs = labels.into_iter().map(|(name, value)| {
            let mut pair = LabelPair::default();
            pair.set_name(name);
            pair.set_value(value);
            pair
        });
        let mut gauge = Gauge::default();
        gauge.set_value(value);
        let mut metric = Metric::default();
        metric.set_label(pairs.collect());
        metric.set_gauge(gauge);
        metric
    });
    family.set_metric(metrics.collect());
    family
}

fn build_info(gates: &Gates) -> MetricFamily {
    let document = version::document(gates);
    let labels = [
        ("build_date", "buildDate"),
        ("compiler", "compiler"),
        ("git_commit", "gitCommit"),
        ("git_tree_state", "gitTreeState"),
        ("git_version", "gitVersion"),
        ("go_version", "goVersion"),
        ("major", "major"),
        ("minor", "minor"),
        ("platform", "platform"),
    ];
    let text = |key: &str| {
        document
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let labels = labels.map(|(label, key)| (label.to_owned(), text(key)));
    let help = "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.";
    gauges("kubernetes_build_info", help, vec![(labels.to_vec(), 1.0)])
}
