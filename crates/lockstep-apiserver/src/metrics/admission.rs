//! Metrics of admission.

use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};

use super::Table;

const STEP_SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5];
const WEBHOOK_SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];
const CONDITION_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
/// Largest `code` label; higher codes are counted as this one, so that webhooks cannot create unbounded labels.
const CODE_MAX: u16 = 600;

/// Counters and histograms of admission.
#[derive(Clone)]
pub(crate) struct AdmissionMeters {
    step_seconds: HistogramVec,
    plugin_seconds: HistogramVec,
    webhook_seconds: HistogramVec,
    webhook_requests: IntCounterVec,
    webhook_rejections: IntCounterVec,
    webhook_fail_opens: IntCounterVec,
    condition_errors: IntCounterVec,
    condition_exclusions: IntCounterVec,
    condition_seconds: HistogramVec,
}

impl AdmissionMeters {
    #[rustfmt::skip]
    pub(super) fn new(table: &Table) -> Self {
        let step = &["type", "operation", "rejected"];
        let named = &["name", "type", "operation", "rejected"];
        let requests = &["name", "type", "operation", "code", "rejected"];
        let rejections = &["name", "type", "operation", "error_type", "rejection_code"];
        let conditions = &["name", "kind", "type", "operation"];
        Self {
            step_seconds: table.histograms("apiserver_admission_step_admission_duration_seconds", "[STABLE] Admission sub-step latency histogram in seconds, broken out for each operation and API resource and step type (validate or admit).", step, STEP_SECONDS),
            plugin_seconds: table.histograms("apiserver_admission_controller_admission_duration_seconds", "[STABLE] Admission controller latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).", named, STEP_SECONDS),
            webhook_seconds: table.histograms("apiserver_admission_webhook_admission_duration_seconds", "[STABLE] Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).", named, WEBHOOK_SECONDS),
            webhook_requests: table.counters("apiserver_admission_webhook_request_total", "[ALPHA] Admission webhook request total, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.", requests),
            webhook_rejections: table.counters("apiserver_admission_webhook_rejection_count", "[ALPHA] Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.", rejections),
            webhook_fail_opens: table.counters("apiserver_admission_webhook_fail_open_count", "[ALPHA] Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).", &["name", "type"]),
            condition_errors: table.counters("apiserver_admission_match_condition_evaluation_errors_total", "[ALPHA] Admission match condition evaluation errors count, identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit).", conditions),
            condition_exclusions: table.counters("apiserver_admission_match_condition_exclusions_total", "[ALPHA] Admission match condition evaluation exclusions count, identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit).", conditions),
            condition_seconds: table.histograms("apiserver_admission_match_condition_evaluation_seconds", "[ALPHA] Admission match condition evaluation time in seconds, identified by name and broken out for each kind containing matchConditions (webhook or policy), operation and type (validate or admit).", conditions, CONDITION_SECONDS),
        }
    }

    /// Records the duration of an admission phase, `admit` or `validate`.
    pub(crate) fn step(&self, kind: &str, operation: &str, rejected: bool, took: Duration) {
        let labels = [kind, operation, flag(rejected)];
        let timer = self.step_seconds.with_label_values(&labels);
        timer.observe(took.as_secs_f64());
    }

    /// Records the duration of one admission plugin.
    pub(crate) fn plugin(
        &self,
        name: &str,
        kind: &str,
        operation: &str,
        rejected: bool,
        took: Duration,
    ) {
        let labels = [name, kind, operation, flag(rejected)];
        let timer = self.plugin_seconds.with_label_values(&labels);
        timer.observe(took.as_secs_f64());
    }

    /// Records a webhook call and its response code.
    pub(crate) fn webhook(
        &self,
        name: &str,
        kind: &str,
        operation: &str,
        code: u16,
        rejected: bool,
        took: Duration,
    ) {
        let rejected = flag(rejected);
        let code = code.min(CODE_MAX).to_string();
        let labels = [name, kind, operation, &code, rejected];
        self.webhook_requests.with_label_values(&labels).inc();
        let labels = [name, kind, operation, rejected];
        let timer = self.webhook_seconds.with_label_values(&labels);
        timer.observe(took.as_secs_f64());
    }

    /// Records the evaluation of a webhook's match conditions: failures and duration.
    pub(crate) fn conditions(
        &self,
        name: &str,
        kind: &str,
        operation: &str,
        errors: u64,
        took: Duration,
    ) {
        let labels = [name, "webhook", kind, operation];
        let timer = self.condition_seconds.with_label_values(&labels);
        timer.observe(took.as_secs_f64());
        if errors > 0 {
            self.condition_errors
                .with_label_values(&labels)
                .inc_by(errors);
        }
    }

    /// Counts a webhook that its match conditions skipped.
    pub(crate) fn excluded(&self, name: &str, kind: &str, operation: &str) {
        let labels = [name, "webhook", kind, operation];
        self.condition_exclusions.with_label_values(&labels).inc();
    }

    /// Counts a rejection by a webhook.
    pub(crate) fn rejected(&self, name: &str, kind: &str, operation: &str, error: &str, code: u16) {
        let code = code.min(CODE_MAX).to_string();
        let labels = [name, kind, operation, error, &code];
        self.webhook_rejections.with_label_values(&labels).inc();
    }

    /// Counts a failed webhook call that `failurePolicy: Ignore` let pass.
    pub(crate) fn failed_open(&self, name: &str, kind: &str) {
        let labels = [name, kind];
        self.webhook_fail_opens.with_label_values(&labels).inc();
    }
}

fn flag(is_on: bool) -> &'static str {
    if is_on { "true" } else { "false" }
}
