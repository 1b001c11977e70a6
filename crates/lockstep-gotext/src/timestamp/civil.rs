//! The proleptic Gregorian calendar.

const SECONDS_PER_DAY: i64 = 86_400;
/// Days from 1 March of year 0 to 1 January 1970.
const DAYS_TO_UNIX_EPOCH: i64 = 719_468;
/// Days in the 400 years after which the calendar repeats.
const DAYS_PER_CYCLE: i64 = 146_097;

/// A calendar date and time of day, numbered as CEL's accessors number them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CivilTime {
    /// `getFullYear`
    pub year: i64,
    /// `getMonth`, from 0.
    pub month: i64,
    /// `getDate`, from 1; `getDayOfMonth` is one less.
    pub date: i64,
    /// `getDayOfWeek`, Sunday is 0.
    pub day_of_week: i64,
    /// `getDayOfYear`, from 0.
    pub day_of_year: i64,
    /// `getHours`
    pub hours: i64,
    /// `getMinutes`
    pub minutes: i64,
    /// `getSeconds`
    pub seconds: i64,
    /// `getMilliseconds`
    pub milliseconds: i64,
}

impl CivilTime {
    /// The time `local_seconds` after midnight of 1 January 1970 on the local clock.
    pub(super) fn at(local_seconds: i64, nanoseconds: u32) -> Self {
        let days = local_seconds.div_euclid(SECONDS_PER_DAY);
        let second_of_day = local_seconds.rem_euclid(SECONDS_PER_DAY);
        let (year, month, date) = date_of(days);
        Self {
            year,
            month: month - 1,
            date,
            // The epoch was a Thursday.
            day_of_week: (days + 4).rem_euclid(7),
            day_of_year: days - days_since_epoch(year, 1, 1),
            hours: second_of_day / 3600,
            minutes: second_of_day / 60 % 60,
            seconds: second_of_day % 60,
            milliseconds: i64::from(nanoseconds / 1_000_000),
        }
    }
}

/// Days from 1 January 1970 to a date; months and days count from 1.
pub(super) fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the leap day comes last.
    let year = if month > 2 { year } else { year - 1 };
    let month_from_march = (month + 9) % 12;
    let cycle = year.div_euclid(400);
    let year_of_cycle = year.rem_euclid(400);
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let leap_days = year_of_cycle / 4 - year_of_cycle / 100;
    cycle * DAYS_PER_CYCLE + year_of_cycle * 365 + leap_days + day_of_year - DAYS_TO_UNIX_EPOCH
}

/// Year, month from 1 and day from 1 of the day that many days after 1 January 1970.
fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + DAYS_TO_UNIX_EPOCH;
    let cycle = shifted.div_euclid(DAYS_PER_CYCLE);
    let day_of_cycle = shifted.rem_euclid(DAYS_PER_CYCLE);
    let leap_days = day_of_cycle / 1460 - day_of_cycle / 36_524 + day_of_cycle / 146_096;
    let year_of_cycle = (day_of_cycle - leap_days) / 365;
    let day_of_year =
        day_of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = cycle * 400 + year_of_cycle + i64::from(month <= 2);
    (year, month, day)
}

/// The number of days in a month counted from 1.
pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}
