//! Seats that a request needs, and for how long.

use std::time::Duration;

/// Most seats of one request.
pub const SEATS_MAX: u32 = 10;
/// Objects that a list handles with one seat.
const OBJECTS_PER_SEAT: usize = 100;
/// Watchers to which a write is sent with one seat.
const WATCHERS_PER_SEAT: usize = 10;
/// Time that one event takes of a seat.
const EVENT_TIME: Duration = Duration::from_millis(5);

/// Estimated work of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Work {
    /// Seats while the request is served.
    pub seats: u32,
    /// Seats after it was served, for the watchers that it wakes.
    pub final_seats: u32,
    /// Time for which it keeps the final seats.
    pub linger: Duration,
}

impl Work {
    /// Work that takes these seats and has no aftermath.
    pub const fn of(seats: u32) -> Self {
        Self {
            seats,
            final_seats: 0,
            linger: Duration::ZERO,
        }
    }

    /// Seats that are taken when the request is dispatched.
    pub fn seats_max(self) -> u32 {
        self.seats.max(self.final_seats)
    }
}

/// Seats of a list that handles this many objects, on a level where one request may have at most `seats_max`.
pub fn list_seats(objects: usize, seats_max: u32) -> Work {
    let seats = u32::try_from(objects.div_ceil(OBJECTS_PER_SEAT)).unwrap_or(u32::MAX);
    Work::of(seats.min(seats_max.min(SEATS_MAX)).max(1))
}

/// Work of a write whose event this many watchers receive. Few watchers cost nothing; the work of many is made narrower
/// and longer, so that it fits into `seats_max`.
pub fn watched_write(watchers: usize, seats_max: u32) -> Work {
    if watchers < WATCHERS_PER_SEAT {
        return Work::of(1);
    }
    let seats = u32::try_from(watchers.div_ceil(WATCHERS_PER_SEAT)).unwrap_or(u32::MAX);
    let final_seats = seats.min(seats_max.min(SEATS_MAX)).max(1);
    Work {
        seats: 1,
        final_seats,
        linger: EVENT_TIME.saturating_mul(seats) / final_seats,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_costs_a_seat_for_each_hundred_objects_up_to_ten() {
        for (objects, seats_max, seats) in [
            (0, 10, 1),
            (100, 10, 1),
            (101, 10, 2),
            (5_000, 10, 10),
            (5_000, 3, 3),
            (5_000, 50, 10),
            (usize::MAX, 0, 1),
        ] {
            assert_eq!(list_seats(objects, seats_max), Work::of(seats), "{objects}");
        }
    }

    #[test]
    fn a_write_pays_for_its_watchers_after_it_was_answered() {
        let lingers = |final_seats, ms| Work {
            seats: 1,
            final_seats,
            linger: Duration::from_millis(ms),
        };
        assert_eq!(watched_write(9, 10), Work::of(1));
        assert_eq!(watched_write(10, 10), lingers(1, 5));
        assert_eq!(watched_write(95, 10), lingers(10, 5));
        assert_eq!(watched_write(1_000, 10), lingers(10, 50));
        assert_eq!(watched_write(1_000, 1), lingers(1, 500));
    }
}
