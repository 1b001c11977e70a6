//! Metrics of the CEL work of custom resources.

use std::time::Duration;

use lockstep_catalog::crd::CelTimer;
use prometheus::Histogram;
use tokio::time::Instant;

use crate::clock;
use crate::metrics::Meters;

/// Reports CEL work of custom resources to Prometheus histograms.
pub(super) struct MeteredCel {
    started: Instant,
    compilation_seconds: Histogram,
    evaluation_seconds: Histogram,
}

impl MeteredCel {
    pub(super) fn of(meters: &Meters) -> Self {
        Self {
            started: clock::now().steady,
            compilation_seconds: meters.compilation_seconds.clone(),
            evaluation_seconds: meters.evaluation_seconds.clone(),
        }
    }
}

impl CelTimer for MeteredCel {
    fn now(&self) -> Duration {
        clock::now().steady - self.started
    }

    fn compiled(&self, took: Duration) {
        self.compilation_seconds.observe(took.as_secs_f64());
    }

    fn evaluated(&self, took: Duration) {
        self.evaluation_seconds.observe(took.as_secs_f64());
    }
}
