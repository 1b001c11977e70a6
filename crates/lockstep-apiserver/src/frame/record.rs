//! Metrics of requests.

use std::sync::Arc;

use prometheus::IntGauge;

use crate::clock::{self, Moment};
use crate::metrics::RequestLabels;
use crate::request::Request;
use crate::response::Response;
use crate::state::Server;

/// Increments a gauge until dropped.
pub(super) struct Counted(IntGauge);

impl Counted {
    pub(super) fn in_gauge(gauge: IntGauge) -> Self {
        gauge.inc();
        Self(gauge)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Counts a request whose response is about to be sent.
pub(super) fn count(
    server: &Arc<Server>,
    request: &Request,
    response: &mut Response,
    received: Moment,
) {
    let metrics = &server.metrics;
    let labels = RequestLabels::of(request);
    let dry_run = if request.notes.facts().is_dry_run {
        "All"
    } else {
        ""
    };
    let code = response.status();
    metrics
        .requests
        .with_label_values(&labels.and_code(dry_run, code.as_str()))
        .inc();
    let Some(body) = response.body().whole() else {
        let gauge = metrics.long_running.with_label_values(&labels.shared());
        response.body_mut().hold(Counted::in_gauge(gauge));
        return;
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "answers are far smaller than 2^52 bytes"
    )]
    let bytes = body.len() as f64;
    let seconds = (clock::now().steady - received.steady).as_secs_f64();
    let shared = labels.shared();
    metrics
        .response_bytes
        .with_label_values(&shared)
        .observe(bytes);
    metrics
        .request_sli_seconds
        .with_label_values(&shared)
        .observe(seconds);
    metrics
        .request_seconds
        .with_label_values(&labels.and_dry_run(dry_run))
        .observe(seconds);
}
