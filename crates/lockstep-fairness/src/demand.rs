//! Demand of a level for seats over time.

use std::time::Duration;

/// Weight of the past in the smoothed demand. With one step each ten seconds, its half-life is five minutes.
const SMOOTHING: f64 = 0.977;

/// Seats that a level could use: the integral since the last step, and what earlier steps left.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    seats: u64,
    since: Duration,
    elapsed: f64,
    integral: f64,
    integral_of_squares: f64,
    peak: u64,
    smoothed: f64,
}

/// Demand over one period.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Period {
    /// Most seats that were demanded at once.
    pub(crate) peak: u64,
    /// Average plus standard deviation, which falls slowly after a peak.
    pub(crate) smoothed: f64,
}

impl Demand {
    pub(crate) fn new(now: Duration) -> Self {
        Self {
            since: now,
            ..Self::default()
        }
    }

    /// Sets the demand from now on.
    pub(crate) fn set(&mut self, seats: u64, now: Duration) {
        self.integrate(now);
        self.seats = seats;
        self.peak = self.peak.max(seats);
    }

    /// Ends a period.
    pub(crate) fn step(&mut self, now: Duration) -> Period {
        self.integrate(now);
        let peak = std::mem::replace(&mut self.peak, self.seats);
        if self.elapsed > 0.0 {
            let average = self.integral / self.elapsed;
            let variance = self.integral_of_squares / self.elapsed - average * average;
            let envelope = average + variance.max(0.0).sqrt();
            let aged = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * envelope;
            self.smoothed = envelope.max(aged);
        }
        (self.elapsed, self.integral, self.integral_of_squares) = (0.0, 0.0, 0.0);
        Period {
            peak,
            smoothed: self.smoothed,
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "requests that wait are far fewer than 2^52"
    )]
    fn integrate(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.since).as_secs_f64();
        self.since = self.since.max(now);
        let seats = self.seats as f64;
        self.elapsed += passed;
        self.integral += seats * passed;
        self.integral_of_squares += seats * seats * passed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn demand_follows_a_rise_at_once_and_a_fall_slowly() {
        let at = Duration::from_secs;
        let mut demand = Demand::new(at(100));
        demand.set(8, at(100));
        let busy = Period {
            peak: 8,
            smoothed: 8.0,
        };
        assert_eq!(demand.step(at(110)), busy);
        demand.set(0, at(110));
        let first = demand.step(at(120));
        assert_eq!(first.peak, 8);
        assert!((7.8..8.0).contains(&first.smoothed), "{first:?}");
        for step in 13..43 {
            demand.step(at(step * 10));
        }
        let later = demand.step(at(430));
        assert_eq!(later.peak, 0);
        assert!((3.5..4.5).contains(&later.smoothed), "{later:?}");
    }
}
