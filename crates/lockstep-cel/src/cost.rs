//! What running a call costs, in the units of the budget.

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
    /// A network's prefix compared with another.
    ContainsCidr,
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
    /// Rules that hold for a function whatever its overload; the others need the overload to be known.
    pub(crate) fn holds_for_any_overload(self) -> bool {
        matches!(self, Self::Elements | Self::Smaller)
    }

    /// The price of a call with these arguments.
    pub(crate) fn of(self, args: &[Value<'_>]) -> u64 {
        let size = |index: usize| args.get(index).map_or(1, Value::cost_size);
        match self {
            Self::One => 1,
            Self::Fixed(cost) => cost,
            Self::Tenth => tenth(size(0)),
            Self::Fifth => fifth(size(0)),
            Self::Smaller => match args {
                [left, right] => tenth(left.smaller_cost_size(right)),
                _ => 1,
            },
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
            Self::ContainsIp => fifth(size(0)) + parsed(args),
            Self::ContainsCidr => fifth(size(0)) + tenth(size(0)) + 1 + parsed(args),
            Self::Selector => 10 + tenth(size(1)) + 50 * size(1).div_ceil(2),
            Self::Validate => regex(size(1), format_size(&args[0])),
        }
    }
}

/// A string argument must be parsed first.
fn parsed(args: &[Value<'_>]) -> u64 {
    match args.get(1) {
        Some(text @ Value::String(_)) => tenth(text.cost_size()),
        _ => 0,
    }
}

fn elements(value: &Value<'_>) -> u64 {
    match value {
        Value::List(list) => list
            .values()
            .map(|element| element.map_or(1, |element| element_cost(&element)))
            .sum(),
        other => element_cost(other),
    }
}

fn element_cost(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 / 10,
        Value::Bytes(bytes) => bytes.len() as u64 / 10,
        _ => 1,
    }
}

fn new_list_size(first: &Value<'_>, args: &[Value<'_>]) -> u64 {
    match (first, args) {
        (Value::Int(count), _) => u64::try_from(*count).unwrap_or(0),
        (_, [_, Value::Int(start), Value::Int(end)]) => {
            u64::try_from(end.saturating_sub(*start)).unwrap_or(0)
        }
        _ => first.cost_size(),
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

fn joined_size(args: &[Value<'_>]) -> u64 {
    let Value::List(list) = &args[0] else {
        return 1;
    };
    let parts: u64 = list
        .values()
        .map(|part| part.map_or(0, |part| part.size().unwrap_or(0)))
        .sum();
    let separator = args.get(1).and_then(Value::size).unwrap_or(0);
    parts.saturating_add(separator.saturating_mul((list.len() as u64).saturating_sub(1)))
}

/// The length of the regular expression a format stands for.
fn format_size(value: &Value<'_>) -> u64 {
    match value {
        Value::Opaque(Opaque::Format(format)) => format.pattern_size(),
        _ => 1,
    }
}
