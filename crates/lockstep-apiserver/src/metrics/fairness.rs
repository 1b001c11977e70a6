//! Metrics of priority and fairness, by level and schema.

use prometheus::{HistogramVec, IntCounterVec, IntGaugeVec};

use super::Table;

/// Reasons for which a request is refused.
const REASONS: [&str; 3] = ["concurrency-limit", "queue-full", "time-out"];
/// From 0 to 30 s, as upstream.
const SECONDS: &[f64] = &[
    0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0,
];
/// As upstream.
const SEATS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0];

/// Metrics by level and schema.
#[derive(Clone)]
pub(crate) struct FairnessMeters {
    pub(crate) rejected: IntCounterVec,
    pub(crate) dispatched: IntCounterVec,
    pub(crate) queued: IntGaugeVec,
    pub(crate) queued_seats: IntGaugeVec,
    pub(crate) executing: IntGaugeVec,
    pub(crate) executing_seats: IntGaugeVec,
    pub(crate) wait_seconds: HistogramVec,
    pub(crate) execution_seconds: HistogramVec,
    pub(crate) estimated_seats: HistogramVec,
}

impl FairnessMeters {
    pub(super) fn new(table: &Table) -> Self {
        let flow = &["priority_level", "flow_schema"];
        let with = |last| ["priority_level", "flow_schema", last];
        Self {
            rejected: table.counters("apiserver_flowcontrol_rejected_requests_total", "[BETA] Number of requests rejected by API Priority and Fairness subsystem", &with("reason")),
            dispatched: table.counters("apiserver_flowcontrol_dispatched_requests_total", "[BETA] Number of requests executed by API Priority and Fairness subsystem", flow),
            queued: table.gauges("apiserver_flowcontrol_current_inqueue_requests", "[BETA] Number of requests currently pending in queues of the API Priority and Fairness subsystem", flow),
            queued_seats: table.gauges("apiserver_flowcontrol_current_inqueue_seats", "[ALPHA] Number of seats currently pending in queues of the API Priority and Fairness subsystem", flow),
            executing: table.gauges("apiserver_flowcontrol_current_executing_requests", "[BETA] Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem", flow),
            executing_seats: table.gauges("apiserver_flowcontrol_current_executing_seats", "[BETA] Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem", flow),
            wait_seconds: table.histograms("apiserver_flowcontrol_request_wait_duration_seconds", "[BETA] Length of time a request spent waiting in its queue", &with("execute"), SECONDS),
            execution_seconds: table.histograms("apiserver_flowcontrol_request_execution_seconds", "[ALPHA] Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem", &with("type"), SECONDS),
            estimated_seats: table.histograms("apiserver_flowcontrol_work_estimated_seats", "[ALPHA] Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness", flow, SEATS),
        }
    }

    /// Counts a request that was refused.
    pub(crate) fn reject(&self, level: &str, schema: &str, reason: &str) {
        let rejected = &self.rejected;
        rejected.with_label_values(&[level, schema, reason]).inc();
    }

    /// Removes the series of a flow.
    pub(crate) fn forget(&self, pair: [&str; 2]) {
        // Each fails if the series does not exist, which is fine.
        let _gone = self.dispatched.remove_label_values(&pair);
        for gauges in [
            &self.queued,
            &self.queued_seats,
            &self.executing,
            &self.executing_seats,
        ] {
            let _gone = gauges.remove_label_values(&pair);
        }
        let _gone = self.estimated_seats.remove_label_values(&pair);
        let with = |last| [pair[0], pair[1], last];
        for reason in REASONS {
            let _gone = self.rejected.remove_label_values(&with(reason));
        }
        for executed in ["true", "false"] {
            let _gone = self.wait_seconds.remove_label_values(&with(executed));
        }
        for kind in ["regular", "watch"] {
            let _gone = self.execution_seconds.remove_label_values(&with(kind));
        }
    }
}
