//! Arithmetic operators: `+ - * / %` and unary minus.

use super::{Row, row};
use crate::cost::Cost::{Both, One};
use crate::schema::{ListKind, Shape};
use crate::scope::Scope;
use crate::value::{Digests, Duration, Eval, Fault, List, Merged, Value, digest, equal};

pub(super) const ROWS: &[Row] = &[
    row("add_int64", "_+_(int, int) -> int", One, add),
    row("add_uint64", "_+_(uint, uint) -> uint", One, add),
    row("add_double", "_+_(double, double) -> double", One, add),
    row("add_string", "_+_(string, string) -> string", Both, add),
    row("add_bytes", "_+_(bytes, bytes) -> bytes", Both, add),
    row("add_list", "_+_(list(A), list(A)) -> list(A)", One, add),
    row(
        "add_duration_duration",
        "_+_(duration, duration) -> duration",
        One,
        add,
    ),
    row(
        "add_duration_timestamp",
        "_+_(duration, timestamp) -> timestamp",
        One,
        add,
    ),
    row(
        "add_timestamp_duration",
        "_+_(timestamp, duration) -> timestamp",
        One,
        add,
    ),
    row("subtract_int64", "_-_(int, int) -> int", One, subtract),
    row("subtract_uint64", "_-_(uint, uint) -> uint", One, subtract),
    row(
        "subtract_double",
        "_-_(double, double) -> double",
        One,
        subtract,
    ),
    row(
        "subtract_duration_duration",
        "_-_(duration, duration) -> duration",
        One,
        subtract,
    ),
    row(
        "subtract_timestamp_duration",
        "_-_(timestamp, duration) -> timestamp",
        One,
        subtract,
    ),
    row(
        "subtract_timestamp_timestamp",
        "_-_(timestamp, timestamp) -> duration",
        One,
        subtract,
    ),
    row("multiply_int64", "_*_(int, int) -> int", One, multiply),
    row("multiply_uint64", "_*_(uint, uint) -> uint", One, multiply),
    row(
        "multiply_double",
        "_*_(double, double) -> double",
        One,
        multiply,
    ),
    row("divide_int64", "_/_(int, int) -> int", One, divide),
    row("divide_uint64", "_/_(uint, uint) -> uint", One, divide),
    row(
        "divide_double",
        "_/_(double, double) -> double",
        One,
        divide,
    ),
    row("modulo_int64", "_%_(int, int) -> int", One, modulo),
    row("modulo_uint64", "_%_(uint, uint) -> uint", One, modulo),
    row("negate_int64", "-_(int) -> int", One, negate),
    row("negate_double", "-_(double) -> double", One, negate),
];

pub(super) const OVERFLOW: Fault<'static> = Fault::Fixed("integer overflow");
pub(super) const UNSIGNED_OVERFLOW: Fault<'static> = Fault::Fixed("unsigned integer overflow");

fn int<'a>(value: Option<i64>) -> Eval<'a> {
    value.map(Value::Int).ok_or(OVERFLOW)
}

fn uint<'a>(value: Option<u64>) -> Eval<'a> {
    value.map(Value::Uint).ok_or(UNSIGNED_OVERFLOW)
}

fn duration<'a, E>(value: Result<Duration, E>) -> Eval<'a> {
    value.map(Value::Duration).map_err(|_| OVERFLOW)
}

pub(super) fn add<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match (args[0], args[1]) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => scope.arena.concat(&[a, b]).map(Value::String),
        (Value::Bytes(a), Value::Bytes(b)) => {
            scope.arena.room(a.len() + b.len())?;
            Ok(Value::Bytes(scope.arena.bytes(&[a, b].concat())))
        }
        (Value::List(a), Value::List(b)) => add_lists(scope, a, b),
        (Value::Duration(a), Value::Duration(b)) => duration(a.plus(b)),
        (Value::Timestamp(at), Value::Duration(by))
        | (Value::Duration(by), Value::Timestamp(at)) => at
            .plus(by)
            .map(Value::Timestamp)
            .map_err(|_| Fault::Fixed("timestamp overflow")),
        _ => Err(Fault::NoSuchOverload),
    }
}

/// Lists follow one another, unless the left one is a set or keyed: then this is a union or a merge.
fn add_lists<'a>(scope: &Scope<'a>, left: List<'a>, right: List<'a>) -> Eval<'a> {
    let Some(schema) = left.schema() else {
        return Ok(Value::List(left.plus(right, scope.arena)));
    };
    let Shape::List(_, kind) = &schema.shape else {
        return Err(Fault::NoSuchOverload);
    };
    let keys: &[Box<str>] = match kind {
        ListKind::Atomic => return Ok(Value::List(left.plus(right, scope.arena))),
        ListKind::Set => &[],
        ListKind::Map(keys) => keys,
    };
    let mut values = scope.arena.vec_with(left.len() + right.len());
    let mut known = Digests::of(std::iter::empty());
    for value in left.values() {
        let value = value?;
        known.insert(item_digest(&value, keys), values.len(), value);
        values.push(value);
    }
    for value in right.values() {
        let value = value?;
        let digest = item_digest(&value, keys);
        if let Some(index) = known.find_at(digest, &value, |a, b| same_item(a, b, keys)) {
            values[index] = value;
        } else {
            known.insert(digest, values.len(), value);
            values.push(value);
        }
    }
    let merged = Merged {
        values: values.into_bump_slice(),
        schema,
    };
    Ok(Value::List(List::Merged(scope.arena.put(merged))))
}

/// Elements that are one have one digest: of the whole in a set, of the keys in a keyed list.
fn item_digest(value: &Value<'_>, keys: &[Box<str>]) -> u64 {
    match value {
        Value::Map(map) if !keys.is_empty() => keys.iter().fold(0, |sum: u64, key| {
            let part = map.field(key).and_then(Result::ok);
            sum.wrapping_mul(31)
                .wrapping_add(part.map_or(0, |part| digest(&part)))
        }),
        _ => digest(value),
    }
}

/// True if two elements have one identity: equal in a set, with equal keys in an associative list.
fn same_item(left: &Value<'_>, right: &Value<'_>, keys: &[Box<str>]) -> bool {
    if keys.is_empty() {
        return equal(left, right);
    }
    let (Value::Map(left), Value::Map(right)) = (left, right) else {
        return false;
    };
    keys.iter()
        .all(|key| match (left.field(key), right.field(key)) {
            (Some(Ok(a)), Some(Ok(b))) => equal(&a, &b),
            (None, None) => true,
            _ => false,
        })
}

fn subtract<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match (args[0], args[1]) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_sub(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.minus(b)),
        (Value::Timestamp(at), Value::Duration(by)) => at
            .minus(by)
            .map(Value::Timestamp)
            .map_err(|_| Fault::Fixed("timestamp overflow")),
        (Value::Timestamp(a), Value::Timestamp(b)) => duration(a.since(b)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn multiply<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match (args[0], args[1]) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_mul(b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn divide<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match (args[0], args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(Fault::Fixed("division by zero"))
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_div(b)),
        (Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a / b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn modulo<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match (args[0], args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(Fault::Fixed("modulus by zero"))
        }
        (Value::Int(a), Value::Int(b)) => int(a.checked_rem(b)),
        (Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(a % b)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn negate<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Int(value) => int(value.checked_neg()),
        Value::Double(value) => Ok(Value::Double(-value)),
        _ => Err(Fault::NoSuchOverload),
    }
}
