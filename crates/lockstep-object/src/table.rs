//! Table cells as `kubectl get` prints them.

use crate::go;
use crate::json;
use crate::json_path::JsonPath;
use crate::metadata::Seconds;
use serde_json::Value;

/// The type of a printer column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "these are the words of the API")]
pub enum ColumnType {
    Integer,
    Number,
    String,
    Boolean,
    Date,
}

impl ColumnType {
    /// The type of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => return None,
        })
    }
}

/// The cell of an object: the first value at the path, as the column's type shows it; null when there is none or it is
/// of another type.
pub fn cell(object: &Value, path: &JsonPath, column_type: ColumnType, now: Seconds) -> Value {
    let Some(value) = path.first(object) else {
        return Value::Null;
    };
    match (column_type, value) {
        (ColumnType::String, value) => Value::from(text(value)),
        (ColumnType::Integer, Value::Number(number)) => match number.as_i64() {
            Some(integer) => Value::from(integer),
            None => Value::from(truncated(number.as_f64().unwrap_or_default())),
        },
        (ColumnType::Number, Value::Number(_)) | (ColumnType::Boolean, Value::Bool(_)) => {
            value.clone()
        }
        (ColumnType::Date, Value::String(text)) => {
            let at = text.parse::<Seconds>();
            Value::from(at.map_or_else(|_| "<invalid>".to_owned(), |at| age(at, now)))
        }
        _ => Value::Null,
    }
}

/// A value as a column of texts shows it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        Value::Number(number) if !number.is_i64() => {
            go::double(number.as_f64().unwrap_or_default())
        }
        other => json::encode_to_string(other),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a cell of whole numbers shows whole numbers"
)]
fn truncated(value: f64) -> i64 {
    value as i64
}

/// Age with at most two units: `16s`, `5m30s`, `3h`, `5d`, `2y10d`.
pub fn age(then: Seconds, now: Seconds) -> String {
    duration(now.unix().saturating_sub(then.unix()))
}

fn duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| match small {
        0 => format!("{large}{large_unit}"),
        small => format!("{large}{large_unit}{small}{small_unit}"),
    };
    match seconds {
        // Clocks of machines differ by a second or so.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds / YEAR, "y", seconds % YEAR / DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}
