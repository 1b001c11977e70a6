//! Timestamp and duration functions.

use super::{Row, row};
use crate::cost::Cost::One;
use crate::scope::Scope;
use crate::value::{Duration, Eval, Fault, Timestamp, Value};
use lockstep_gotext::timestamp::{CivilTime, Zone};

pub(super) const ROWS: &[Row] = &[
    row(
        "string_to_timestamp",
        "timestamp(string) -> timestamp",
        One,
        timestamp,
    ),
    row(
        "int64_to_timestamp",
        "timestamp(int) -> timestamp",
        One,
        timestamp,
    ),
    row(
        "timestamp_to_timestamp",
        "timestamp(timestamp) -> timestamp",
        One,
        timestamp,
    ),
    row(
        "string_to_duration",
        "duration(string) -> duration",
        One,
        duration,
    ),
    row(
        "int64_to_duration",
        "duration(int) -> duration",
        One,
        duration,
    ),
    row(
        "duration_to_duration",
        "duration(duration) -> duration",
        One,
        duration,
    ),
    row(
        "timestamp_to_year",
        "<timestamp>.getFullYear() -> int",
        One,
        year,
    ),
    row(
        "timestamp_to_year_with_tz",
        "<timestamp>.getFullYear(string) -> int",
        One,
        year,
    ),
    row(
        "timestamp_to_month",
        "<timestamp>.getMonth() -> int",
        One,
        month,
    ),
    row(
        "timestamp_to_month_with_tz",
        "<timestamp>.getMonth(string) -> int",
        One,
        month,
    ),
    row(
        "timestamp_to_day_of_year",
        "<timestamp>.getDayOfYear() -> int",
        One,
        day_of_year,
    ),
    row(
        "timestamp_to_day_of_year_with_tz",
        "<timestamp>.getDayOfYear(string) -> int",
        One,
        day_of_year,
    ),
    row(
        "timestamp_to_day_of_month",
        "<timestamp>.getDayOfMonth() -> int",
        One,
        day_of_month,
    ),
    row(
        "timestamp_to_day_of_month_with_tz",
        "<timestamp>.getDayOfMonth(string) -> int",
        One,
        day_of_month,
    ),
    row(
        "timestamp_to_day_of_month_1_based",
        "<timestamp>.getDate() -> int",
        One,
        date,
    ),
    row(
        "timestamp_to_day_of_month_1_based_with_tz",
        "<timestamp>.getDate(string) -> int",
        One,
        date,
    ),
    row(
        "timestamp_to_day_of_week",
        "<timestamp>.getDayOfWeek() -> int",
        One,
        day_of_week,
    ),
    row(
        "timestamp_to_day_of_week_with_tz",
        "<timestamp>.getDayOfWeek(string) -> int",
        One,
        day_of_week,
    ),
    row(
        "timestamp_to_hours",
        "<timestamp>.getHours() -> int",
        One,
        hours,
    ),
    row(
        "timestamp_to_hours_with_tz",
        "<timestamp>.getHours(string) -> int",
        One,
        hours,
    ),
    row(
        "duration_to_hours",
        "<duration>.getHours() -> int",
        One,
        hours,
    ),
    row(
        "timestamp_to_minutes",
        "<timestamp>.getMinutes() -> int",
        One,
        minutes,
    ),
    row(
        "timestamp_to_minutes_with_tz",
        "<timestamp>.getMinutes(string) -> int",
        One,
        minutes,
    ),
    row(
        "duration_to_minutes",
        "<duration>.getMinutes() -> int",
        One,
        minutes,
    ),
    row(
        "timestamp_to_seconds",
        "<timestamp>.getSeconds() -> int",
        One,
        seconds,
    ),
    row(
        "timestamp_to_seconds_tz",
        "<timestamp>.getSeconds(string) -> int",
        One,
        seconds,
    ),
    row(
        "duration_to_seconds",
        "<duration>.getSeconds() -> int",
        One,
        seconds,
    ),
    row(
        "timestamp_to_milliseconds",
        "<timestamp>.getMilliseconds() -> int",
        One,
        milliseconds,
    ),
    row(
        "timestamp_to_milliseconds_with_tz",
        "<timestamp>.getMilliseconds(string) -> int",
        One,
        milliseconds,
    ),
    row(
        "duration_to_milliseconds",
        "<duration>.getMilliseconds() -> int",
        One,
        milliseconds,
    ),
];

fn timestamp<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Timestamp(at) => Ok(Value::Timestamp(at)),
        Value::String(text) => Timestamp::parse(text)
            .map(Value::Timestamp)
            .map_err(|error| scope.fault(error)),
        Value::Int(seconds) => Timestamp::from_unix_seconds(seconds)
            .map(Value::Timestamp)
            .map_err(|error| scope.fault(error)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn duration<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Duration(span) => Ok(Value::Duration(span)),
        // The overload is declared and converts nothing, as upstream.
        Value::Int(_) => Err(Fault::Fixed(
            "type conversion error from 'int' to 'google.protobuf.Duration'",
        )),
        Value::String(text) => Duration::parse(text).map(Value::Duration).map_err(|_| {
            Fault::Fixed("type conversion error from 'string' to 'google.protobuf.Duration'")
        }),
        _ => Err(Fault::NoSuchOverload),
    }
}

/// A part of the calendar or clock in the zone of the second argument, or of a whole duration.
fn part<'a>(
    scope: &Scope<'a>,
    args: &[Value<'a>],
    civil: fn(&CivilTime) -> i64,
    span: Option<fn(Duration) -> i64>,
) -> Eval<'a> {
    match (args[0], args.get(1)) {
        (Value::Timestamp(at), None) => Ok(Value::Int(civil(&at.in_zone(&Zone::UTC)))),
        (Value::Timestamp(at), Some(Value::String(zone))) => {
            let zone = Zone::parse(zone).map_err(|error| scope.fault(error))?;
            Ok(Value::Int(civil(&at.in_zone(&zone))))
        }
        (Value::Duration(duration), None) => span
            .map(|span| Value::Int(span(duration)))
            .ok_or(Fault::NoSuchOverload),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn year<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.year, None)
}

fn month<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.month, None)
}

fn day_of_year<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.day_of_year, None)
}

fn day_of_month<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.date - 1, None)
}

fn date<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.date, None)
}

fn day_of_week<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.day_of_week, None)
}

fn hours<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.hours, Some(Duration::hours))
}

fn minutes<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.minutes, Some(Duration::minutes))
}

fn seconds<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(scope, args, |civil| civil.seconds, Some(Duration::seconds))
}

fn milliseconds<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    part(
        scope,
        args,
        |civil| civil.milliseconds,
        Some(Duration::milliseconds),
    )
}
