//! CEL extended list library.

use super::{Row, row};
use crate::cost::Cost::{Flatten, NewList, Pairs};
use crate::scope::Scope;
use crate::value::{Eval, Fault, List, Value, compare};
use std::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    row(
        "list_slice",
        "<list(A)>.slice(int, int) -> list(A)",
        NewList,
        slice,
    ),
    row(
        "list_flatten",
        "<list(list(A))>.flatten() -> list(A)",
        Flatten,
        flatten,
    ),
    row(
        "list_flatten_int",
        "<list(dyn)>.flatten(int) -> list(dyn)",
        Flatten,
        flatten,
    ),
    row(
        "list_distinct",
        "<list(A)>.distinct() -> list(A)",
        Pairs,
        distinct,
    ),
    row(
        "list_sort_int",
        "<list(int)>.sort() -> list(int)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_uint",
        "<list(uint)>.sort() -> list(uint)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_double",
        "<list(double)>.sort() -> list(double)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_bool",
        "<list(bool)>.sort() -> list(bool)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_duration",
        "<list(duration)>.sort() -> list(duration)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_timestamp",
        "<list(timestamp)>.sort() -> list(timestamp)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_string",
        "<list(string)>.sort() -> list(string)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_bytes",
        "<list(bytes)>.sort() -> list(bytes)",
        Pairs,
        sort,
    ),
    row(
        "list_sort_by_int",
        "<list(A)>.@sortByAssociatedKeys(list(int)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_sort_by_uint",
        "<list(A)>.@sortByAssociatedKeys(list(uint)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_sort_by_double",
        "<list(A)>.@sortByAssociatedKeys(list(double)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_sort_by_bool",
        "<list(A)>.@sortByAssociatedKeys(list(bool)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_sort_by_duration",
        "<list(A)>.@sortByAssociatedKeys(list(duration)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_sort_by_timestamp",
        "<list(A)>.@sortByAssociatedKeys(list(timestamp)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_sort_by_string",
        "<list(A)>.@sortByAssociatedKeys(list(string)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_sort_by_bytes",
        "<list(A)>.@sortByAssociatedKeys(list(bytes)) -> list(A)",
        Pairs,
        super::not_implemented,
    ),
    row(
        "list_reverse",
        "<list(A)>.reverse() -> list(A)",
        NewList,
        reverse,
    ),
    row(
        "lists_range",
        "lists.range(int) -> list(int)",
        NewList,
        range,
    ),
];

fn list_of<'a>(values: bumpalo::collections::Vec<'a, Value<'a>>) -> Value<'a> {
    Value::List(List::Built(values.into_bump_slice()))
}

fn slice<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (list, start, end) = (args[0].as_list()?, args[1].as_int()?, args[2].as_int()?);
    let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
    if start < 0 || end < 0 {
        return Err(scope.fault(format_args!(
            "cannot slice({start}, {end}), negative indexes not supported"
        )));
    }
    if start > end {
        let text = format_args!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        );
        return Err(scope.fault(text));
    }
    if end > length {
        return Err(scope.fault(format_args!(
            "cannot slice({start}, {end}), list is length {length}"
        )));
    }
    let (start, end) = (
        usize::try_from(start).unwrap_or(0),
        usize::try_from(end).unwrap_or(0),
    );
    let mut values = scope.arena.vec_with(end - start);
    for index in start..end {
        values.push(list.at(index)?);
    }
    Ok(list_of(values))
}

fn flatten<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    let depth = args.get(1).map_or(Ok(1), Value::as_int)?;
    if depth < 0 {
        return Err(Fault::Fixed("level must be non-negative"));
    }
    let mut values = scope.arena.vec();
    // Lists within lists wait here, so that their depth does not matter.
    let mut open = vec![(list, 0, depth)];
    while let Some((list, index, depth)) = open.pop() {
        if index == list.len() {
            continue;
        }
        open.push((list, index + 1, depth));
        match list.at(index)? {
            Value::List(inner) if depth > 0 => open.push((inner, 0, depth - 1)),
            other => {
                if values.len().is_power_of_two() {
                    scope.arena.room(values.len() * size_of::<Value<'_>>())?;
                    scope.work(values.len() * size_of::<Value<'_>>())?;
                }
                values.push(other);
            }
        }
    }
    Ok(list_of(values))
}

fn distinct<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let mut kept: bumpalo::collections::Vec<'a, Value<'a>> = scope.arena.vec();
    for value in args[0].as_list()?.values() {
        let value = value?;
        let known = kept.iter().map(|known| Ok(*known));
        if scope.position(known, &value)?.is_none() {
            kept.push(value);
        }
    }
    Ok(list_of(kept))
}

fn sort<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    scope.work(list.len().saturating_mul(2 * size_of::<Value<'_>>()))?;
    let mut values = scope.arena.vec_with(list.len());
    for value in list.values() {
        values.push(value?);
    }
    ordered(&values)?;
    values.sort_by(|left, right| compare(left, right).flatten().unwrap_or(Ordering::Equal));
    Ok(list_of(values))
}

/// Keys to sort by have an order and are all of the first one's type.
pub(crate) fn ordered<'a>(keys: &[Value<'a>]) -> Result<(), Fault<'a>> {
    let Some(first) = keys.first() else {
        return Ok(());
    };
    if compare(first, first).is_none() {
        return Err(Fault::Fixed("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(Fault::Fixed("list elements must have the same type"));
    }
    Ok(())
}

fn reverse<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    let mut values = scope.arena.vec_with(list.len());
    for index in (0..list.len()).rev() {
        values.push(list.at(index)?);
    }
    Ok(list_of(values))
}

fn range<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let count = args[0].as_int()?.max(0);
    scope.arena.room(
        usize::try_from(count)
            .unwrap_or(usize::MAX)
            .saturating_mul(size_of::<Value<'_>>()),
    )?;
    let mut values = scope.arena.vec();
    values.extend((0..count).map(Value::Int));
    Ok(list_of(values))
}
