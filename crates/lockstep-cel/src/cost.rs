//! Runtime cost of function calls.

use crate::value::{List, Opaque, Value};

/// The rule of one overload. Sizes are code points, bytes or elements; scalars have size one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Cost {
    One,
    Fixed(u64),
    /// A tenth of an argument's size.
    Tenth,
    /// A fifth of the receiver's size.
    Fifth,
    /// A tenth of the smaller of two sizes.
    Smaller,
    /// A tenth of both sizes.
    Both,
    /// The size of the second argument.
    Second,
    /// Text search: product of a tenth of both.
    Search,
    /// Regular expression: a tenth of the text times a quarter of the pattern.
    Regex,
    /// A fifth of the joined text.
    Join,
    /// One for each element, a tenth of its bytes for strings.
    Elements,
    /// A new list of as many elements as the receiver or the number given.
    NewList,
    /// A new list with the elements of lists inside.
    Flatten,
    /// A new list, each element compared with each.
    Pairs,
    /// Each element of one list compared with each of another, times a factor.
    Product(u64),
    /// A network's prefix compared with an address.
    ContainsIp,
    /// Variant that parses the address from a string.
    ContainsIpText,
    /// A network's prefix compared with another.
    ContainsCidr,
    /// Variant that parses the other network from a string.
    ContainsCidrText,
    /// A tenth of all values inside two arguments.
    Nodes,
    /// A selector is parsed.
    Selector,
    /// A text is checked against a named format.
    Validate,
}

/// Creating a list, map or object.
pub(crate) const LIST: u64 = 10;
pub(crate) const MAP: u64 = 30;
pub(crate) const OBJECT: u64 = 40;
/// One authorization check; two fit into the limit of an expression.
pub(crate) const AUTHORIZATION_CHECK: u64 = 350_000;
const NEW_LIST: u64 = 11;

/// `ceil(size / 10)`
pub(crate) fn tenth(size: u64) -> u64 {
    size.div_ceil(10)
}

/// Number of values inside these values, themselves included.
pub(crate) fn nodes(values: &[Value<'_>]) -> u64 {
    let mut open: Vec<Value<'_>> = values.to_vec();
    let mut count: u64 = 0;
    while let Some(value) = open.pop() {
        count += 1;
        match value {
            Value::List(list) => open.extend(list.values().flatten()),
            Value::Map(map) => open.extend(map.entries().filter_map(|(_, value)| value.ok())),
            Value::Object(object) => open.extend(object.fields.iter().map(|(_, value)| *value)),
            _ => {}
        }
    }
    count
}

fn fifth(size: u64) -> u64 {
    size.div_ceil(5)
}

fn square(size: u64) -> u64 {
    size.saturating_mul(size)
}

/// The price of looking for `pattern` in a text of this size.
pub(crate) fn regex(text: u64, pattern: u64) -> u64 {
    tenth(text.saturating_add(1)).saturating_mul(pattern.div_ceil(4))
}

impl Cost {
    /// The rule while the overload is not known: most functions then cost one.
    pub(crate) fn of_any_overload(self) -> Self {
        match self {
            Self::Elements | Self::Smaller => self,
            Self::ContainsIp | Self::ContainsIpText => Self::ContainsIp,
            Self::ContainsCidr | Self::ContainsCidrText => Self::ContainsCidr,
            _ => Self::One,
        }
    }

    /// Number of values visited to compute the cost, even if the cost itself is zero.
    pub(crate) fn walk(self, args: &[Value<'_>]) -> usize {
        match (self, args.first()) {
            (Self::Elements | Self::Join, Some(Value::List(list))) => list.len(),
            _ => 0,
        }
    }

    /// The price of a call with these arguments.
    pub(crate) fn of(self, args: &[Value<'_>]) -> u64 {
        let size = |index: usize| args.get(index).map_or(1, Value::cost_size);
        match self {
            Self::One => 1,
            Self::Fixed(cost) => cost,
            Self::Tenth => tenth(size(0)),
            Self::Fifth | Self::ContainsIp => fifth(size(0)),
            Self::Smaller => match args {
                [left, right] => tenth(left.smaller_cost_size(right)),
                _ => 1,
            },
            Self::Nodes => nodes(args) / 10 + 1,
            Self::Both => tenth(size(0).saturating_add(size(1))),
            Self::Second => size(1),
            Self::Search => tenth(size(0)).saturating_mul(tenth(size(1))),
            Self::Regex => regex(size(0), size(1)),
            Self::Join => fifth(joined_size(args)),
            Self::Elements => elements(&args[0]),
            Self::NewList => NEW_LIST.saturating_add(new_list_size(&args[0], args)),
            Self::Flatten => NEW_LIST.saturating_add(size(0).saturating_mul(flatten_depth(args))),
            Self::Pairs => NEW_LIST.saturating_add(pairs(&args[args.len() - 1], size(0))),
            Self::Product(factor) => size(0)
                .saturating_mul(size(1))
                .saturating_mul(factor)
                .saturating_add(1),
            Self::ContainsIpText => fifth(size(0)) + tenth(size(1)),
            Self::ContainsCidr => fifth(size(0)) + tenth(size(0)) + 1,
            Self::ContainsCidrText => fifth(size(0)) + tenth(size(0)) + 1 + tenth(size(1)),
            Self::Selector => 10 + tenth(size(1)) + 50 * size(1).div_ceil(2),
            Self::Validate => regex(size(1), format_size(&args[0])),
        }
    }
}

/// One for each scalar, however deep, and a tenth of the bytes of a text.
fn elements(value: &Value<'_>) -> u64 {
    let Value::List(list) = value else {
        return nested(*value);
    };
    list.values()
        .map(|element| {
            element.map_or(1, |element| {
                scalar(&element).unwrap_or_else(|| nested(element))
            })
        })
        .sum()
}

/// Variant for values that contain others.
fn nested(value: Value<'_>) -> u64 {
    let mut cost = 0_u64;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::List(list) => open.extend(list.values().flatten()),
            Value::Map(map) => {
                for (key, value) in map.entries() {
                    open.push(key);
                    open.extend(value);
                }
            }
            _ => cost += scalar(&value).unwrap_or(1),
        }
    }
    cost
}

fn scalar(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::String(text) => Some(text.len() as u64 / 10),
        Value::Bytes(bytes) => Some(bytes.len() as u64 / 10),
        Value::List(_) | Value::Map(_) => None,
        _ => Some(1),
    }
}

fn new_list_size(first: &Value<'_>, args: &[Value<'_>]) -> u64 {
    match (first, args) {
        (Value::Int(count), [_]) => u64::try_from(*count).unwrap_or(0),
        (Value::List(list), [_, Value::Int(start), Value::Int(end)]) => {
            let end = usize::try_from(*end).ok().filter(|end| *end <= list.len());
            let start = usize::try_from(*start).ok();
            start
                .zip(end)
                .and_then(|(start, end)| end.checked_sub(start))
                .map_or(1, |size| size as u64)
        }
        (Value::List(list), [_]) => list.len() as u64,
        // A rejected value costs as much as one element.
        _ => 1,
    }
}

fn flatten_depth(args: &[Value<'_>]) -> u64 {
    match args.get(1) {
        Some(Value::Int(depth)) => u64::try_from(*depth).unwrap_or(0),
        _ => 1,
    }
}

/// Two comparisons for each pair; texts cost a little more.
fn pairs(keys: &Value<'_>, count: u64) -> u64 {
    let texts = matches!(keys, Value::List(list) if has_texts(*list));
    if texts {
        square(count).saturating_mul(21) / 10
    } else {
        square(count).saturating_mul(2)
    }
}

fn has_texts(list: List<'_>) -> bool {
    !list.is_empty() && matches!(list.at(0), Ok(Value::String(_) | Value::Bytes(_)))
}

/// Size of the joined string; one if an element is not a string.
fn joined_size(args: &[Value<'_>]) -> u64 {
    let separator = match args.get(1) {
        None => Some(0),
        Some(separator) => text_size(separator),
    };
    let (Value::List(list), Some(separator)) = (&args[0], separator) else {
        return 1;
    };
    let gaps = (list.len() as u64).saturating_sub(1);
    let mut size = separator.saturating_mul(gaps);
    for part in list.values() {
        match part.ok().as_ref().and_then(text_size) {
            Some(part) => size = size.saturating_add(part),
            None => return 1,
        }
    }
    size
}

fn text_size(value: &Value<'_>) -> Option<u64> {
    match value {
        Value::String(_) => value.size(),
        _ => None,
    }
}

/// Length of a format's regular expression.
fn format_size(value: &Value<'_>) -> u64 {
    match value {
        Value::Opaque(Opaque::Format(format)) => format.pattern_size(),
        _ => 1,
    }
}
