//! Histogram of durations.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Lock-free histogram with fixed bucket bounds.
#[derive(Debug)]
pub struct Histogram {
    bounds_micros: &'static [u64],
    /// One bucket for each bound, and one for longer durations.
    counts: Vec<AtomicU64>,
    sum_nanos: AtomicU64,
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
        let counts = (0..=bounds_micros.len()).map(|_| AtomicU64::default());
        Self {
            bounds_micros,
            counts: counts.collect(),
            sum_nanos: AtomicU64::default(),
        }
    }

    /// Adds a duration.
    pub fn observe(&self, duration: Duration) {
        let within = |bound: &u64| Duration::from_micros(*bound) < duration;
        let bucket = self.bounds_micros.partition_point(within);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.sum_nanos.fetch_add(nanos, Ordering::Relaxed);
    }

    /// A snapshot of the counts.
    pub fn counted(&self) -> Counted {
        let mut count = 0;
        let mut upto = self.counts.iter().map(|bucket| {
            count += bucket.load(Ordering::Relaxed);
            count
        });
        let buckets = self.bounds_micros.iter().copied().zip(&mut upto).collect();
        upto.for_each(drop);
        Counted {
            buckets,
            count,
            sum: Duration::from_nanos(self.sum_nanos.load(Ordering::Relaxed)),
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
