//! Histogram of durations.

use std::time::Duration;

use prometheus::HistogramOpts;
use prometheus::core::Metric as _;

/// A Prometheus histogram of durations with bounds in microseconds.
#[derive(Debug)]
pub struct Histogram {
    bounds_micros: &'static [u64],
    seconds: prometheus::Histogram,
}

/// Snapshot of a histogram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counted {
    /// Upper bounds in microseconds with cumulative counts.
    pub buckets: Vec<(u64, u64)>,
    /// Number of durations.
    pub count: u64,
    /// Sum of all durations.
    pub sum: Duration,
}

impl Histogram {
    /// Creates an empty histogram with ascending bounds.
    pub fn new(bounds_micros: &'static [u64]) -> Self {
        let seconds = |micros: &u64| Duration::from_micros(*micros).as_secs_f64();
        let bounds = bounds_micros.iter().map(seconds).collect();
        // The store's own exporter writes the names of metrics; this one appears nowhere.
        let options = HistogramOpts::new("duration_seconds", "Durations").buckets(bounds);
        Self {
            bounds_micros,
            seconds: prometheus::Histogram::with_opts(options).expect("the bounds ascend"),
        }
    }

    /// Adds a duration.
    pub fn observe(&self, duration: Duration) {
        self.seconds.observe(duration.as_secs_f64());
    }

    /// Takes a snapshot.
    pub fn counted(&self) -> Counted {
        let metric = self.seconds.metric();
        let histogram = metric.get_histogram();
        let counts = histogram
            .get_bucket()
            .iter()
            .map(prometheus::proto::Bucket::cumulative_count);
        Counted {
            buckets: self.bounds_micros.iter().copied().zip(counts).collect(),
            count: histogram.get_sample_count(),
            sum: Duration::from_secs_f64(histogram.get_sample_sum()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_up_to_every_bound_that_it_does_not_exceed() {
        let histogram = Histogram::new(&[10, 20]);
        for micros in [1, 10, 11, 20, 21] {
            histogram.observe(Duration::from_micros(micros));
        }
        let counted = Counted {
            buckets: vec![(10, 2), (20, 4)],
            count: 5,
            sum: Duration::from_micros(63),
        };
        assert_eq!(histogram.counted(), counted);
    }
}
