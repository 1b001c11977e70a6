//! Metrics recorded below the request level: store, conversion, watches, controllers, field gates.

use std::time::Duration;

use prometheus::{Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};

use super::admission::AdmissionMeters;
use super::policies::PolicyMeters;
use super::{SECONDS, Table};
use lockstep_catalog::{Resource, Served};

/// From 1 ms to 16 s, as upstream.
const CONVERSION_SECONDS: &[f64] = &[
    0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096,
    8.192, 16.384,
];
/// From 5 ms to a minute, as upstream.
const WEBHOOK_SECONDS: &[f64] = &[
    0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0,
];
/// From 5 ms to 10 s, as upstream.
const EXPRESSION_SECONDS: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// From 1 ms to 10 s, as upstream.
const TOKEN_SECONDS: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
/// From a nanosecond to 10 s, as upstream.
const WORK_SECONDS: &[f64] = &[1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];
/// From 1 KiB to 128 KiB, as upstream.
const EVENT_BYTES: &[f64] = &[
    1024.0, 2048.0, 4096.0, 8192.0, 16384.0, 32768.0, 65536.0, 131_072.0,
];
/// Workqueue name of the controllers.
const LOOPS: &str = "background-loops";

/// Handles of metrics for other modules. Clones share the counters.
#[derive(Clone)]
pub(crate) struct Meters {
    store_seconds: HistogramVec,
    conversions: IntCounterVec,
    conversion_seconds: HistogramVec,
    crd_conversion_seconds: HistogramVec,
    watch_events: IntCounterVec,
    watch_event_bytes: HistogramVec,
    deprecated: IntGaugeVec,
    pub(crate) compilation_seconds: Histogram,
    pub(crate) evaluation_seconds: Histogram,
    /// Duration of the authentication of OIDC tokens, by result and issuer.
    pub(crate) token_seconds: HistogramVec,
    pub(crate) loops: LoopMeters,
    pub(crate) admission: AdmissionMeters,
    pub(crate) policies: PolicyMeters,
    pub(crate) field_gates: FieldGateMeters,
}

/// Workqueue metrics of the controllers.
#[derive(Clone)]
pub(crate) struct LoopMeters {
    pub(crate) added: IntCounter,
    pub(crate) depth: IntGauge,
    pub(crate) work_seconds: Histogram,
}

/// Metrics of field gates.
#[derive(Clone)]
pub(crate) struct FieldGateMeters {
    enabled: IntGaugeVec,
    actions: IntCounterVec,
    step_seconds: HistogramVec,
}

/// Label values of a field gate: CRD, component, gate and stage.
pub(crate) type GateLabels = [String; 4];

impl FieldGateMeters {
    /// Sets the gauges of a CRD's field gates and removes those in `before`.
    pub(crate) fn follow(&self, before: &[GateLabels], now: &[(GateLabels, bool)]) {
        for labels in before {
            // Fails if the series does not exist, which is fine.
            let _gone = self
                .enabled
                .remove_label_values(&labels.each_ref().map(String::as_str));
        }
        for (labels, enabled) in now {
            let gauge = self
                .enabled
                .with_label_values(&labels.each_ref().map(String::as_str));
            gauge.set(i64::from(*enabled));
        }
    }

    /// Counts an action of a gate on a field.
    pub(crate) fn acted(&self, crd: &str, gate: &str, action: &str) {
        self.actions.with_label_values(&[crd, gate, action]).inc();
    }

    /// Records the duration of the field-gate step of a write.
    pub(crate) fn stepped(&self, crd: &str, took: Duration) {
        let timer = self.step_seconds.with_label_values(&[crd]);
        timer.observe(took.as_secs_f64());
    }
}

/// Counters of one watch.
pub(crate) struct WatchMeters {
    events: IntCounter,
    bytes: Histogram,
}

impl Default for Meters {
    /// Metrics in a registry of their own, which is not exported.
    fn default() -> Self {
        Self::new(&Table(prometheus::Registry::new()))
    }
}

impl Meters {
    pub(super) fn new(table: &Table) -> Self {
        let stored = &["operation", "group", "resource"];
        let result = &["result", "failure_type"];
        let crd = &["crd_name", "from_version", "to_version", "succeeded"];
        let watched = &["group", "version", "resource"];
        let api = &[
            "group",
            "version",
            "resource",
            "subresource",
            "removed_release",
        ];
        let queue = |vec: HistogramVec| vec.with_label_values(&[LOOPS]);
        Self {
            store_seconds: table.histograms("etcd_request_duration_seconds", "[ALPHA] Etcd request latency in seconds for each operation and object type.", stored, SECONDS),
            conversions: table.counters("apiserver_conversion_webhook_request_total", "[ALPHA] Counter for conversion webhook requests with success/failure and failure error type", result),
            conversion_seconds: table.histograms("apiserver_conversion_webhook_duration_seconds", "[ALPHA] Conversion webhook request latency", result, WEBHOOK_SECONDS),
            crd_conversion_seconds: table.histograms("apiserver_crd_conversion_webhook_duration_seconds", "[ALPHA] CRD webhook conversion duration in seconds", crd, CONVERSION_SECONDS),
            watch_events: table.counters("apiserver_watch_events_total", "[ALPHA] Number of events sent in watch clients", watched),
            watch_event_bytes: table.histograms("apiserver_watch_events_sizes", "[ALPHA] Watch event size distribution in bytes", watched, EVENT_BYTES),
            deprecated: table.gauges("apiserver_requested_deprecated_apis", "[STABLE] Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.", api),
            compilation_seconds: table.histogram("apiserver_cel_compilation_duration_seconds", "[BETA] CEL compilation time in seconds.", EXPRESSION_SECONDS),
            token_seconds: table.histograms("apiserver_authentication_jwt_authenticator_latency_seconds", "[ALPHA] Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).", &["result", "jwt_issuer_hash"], TOKEN_SECONDS),
            evaluation_seconds: table.histogram("apiserver_cel_evaluation_duration_seconds", "[BETA] CEL evaluation time in seconds.", EXPRESSION_SECONDS),
            admission: AdmissionMeters::new(table),
            policies: PolicyMeters::new(table),
            field_gates: FieldGateMeters {
                enabled: table.gauges("lockstep_crd_field_gate_enabled", "Whether the gate of fields of a custom resource is open.", &["crd", "component", "gate", "stage"]),
                actions: table.counters("lockstep_crd_field_gate_actions_total", "What gates of fields did to writes, by field.", &["crd", "gate", "action"]),
                step_seconds: table.histograms("lockstep_crd_field_gate_step_seconds", "How long gates of fields took for a write.", &["crd"], WORK_SECONDS),
            },
            loops: LoopMeters {
                added: table.counters("workqueue_adds_total", "[BETA] Total number of adds handled by workqueue", &["name"]).with_label_values(&[LOOPS]),
                depth: table.gauges("workqueue_depth", "[BETA] Current depth of workqueue", &["name"]).with_label_values(&[LOOPS]),
                work_seconds: queue(table.histograms("workqueue_work_duration_seconds", "[BETA] How long in seconds processing an item from workqueue takes.", &["name"], WORK_SECONDS)),
            },
        }
    }

    /// Records the duration of a store operation.
    pub(crate) fn store(&self, operation: &str, resource: &Resource, took: Duration) {
        let labels = [operation, &resource.group, &resource.plural];
        let timer = self.store_seconds.with_label_values(&labels);
        timer.observe(took.as_secs_f64());
    }

    /// Records a call to a conversion webhook; `failure` is the failure type.
    pub(crate) fn conversion(&self, failure: Option<&str>, took: Duration) {
        let result = if failure.is_some() {
            "failure"
        } else {
            "success"
        };
        let labels = [result, failure.unwrap_or_default()];
        self.conversions.with_label_values(&labels).inc();
        let timer = self.conversion_seconds.with_label_values(&labels);
        timer.observe(took.as_secs_f64());
    }

    /// Records the conversion of objects of a CRD between two versions.
    pub(crate) fn converted(&self, crd: &str, from: &str, to: &str, is_done: bool, took: Duration) {
        let succeeded = if is_done { "true" } else { "false" };
        let labels = [crd, from, to, succeeded];
        let timer = self.crd_conversion_seconds.with_label_values(&labels);
        timer.observe(took.as_secs_f64());
    }

    /// Sets the gauge of requested deprecated APIs.
    pub(crate) fn deprecated(&self, served: &Served, subresource: &str) {
        let [group, version, resource] = names(served);
        let labels = [group, version, resource, subresource, ""];
        self.deprecated.with_label_values(&labels).set(1);
    }

    /// Counters for a watch of a resource.
    pub(crate) fn watch(&self, served: &Served) -> WatchMeters {
        let labels = names(served);
        WatchMeters {
            events: self.watch_events.with_label_values(&labels),
            bytes: self.watch_event_bytes.with_label_values(&labels),
        }
    }
}

impl WatchMeters {
    /// Counts events, one per line.
    pub(crate) fn sent(&self, lines: &[u8]) {
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', lines) {
            self.events.inc();
            #[expect(
                clippy::cast_precision_loss,
                reason = "events are far below 2^52 bytes"
            )]
            self.bytes.observe((end + 1 - start) as f64);
            start = end + 1;
        }
    }
}

fn names(served: &Served) -> [&str; 3] {
    let resource = &served.resource;
    let version = &resource.versions[served.version].name;
    [&resource.group, version, &resource.plural]
}
