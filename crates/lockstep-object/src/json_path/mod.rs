//! JSON paths in kubectl's dialect, as printer columns and selectable fields have them: `.spec.ports[0].name`,
//! `.status.conditions[?(@.type=="Ready")].status`, `.metadata.annotations.a\.b/c`, `.spec..image`.

mod parse;

pub use parse::JsonPathError;

use serde_json::Value;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// A path. Evaluating it takes time in proportion to what it passes over.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPath {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    /// One of these fields each.
    Fields(Vec<String>),
    /// Elements from, to, and in which steps.
    Slice {
        from: Option<i64>,
        to: Option<i64>,
        step: usize,
    },
    /// One element, from the end if below zero.
    Index(i64),
    /// All elements, or all fields.
    All,
    /// Elements that match a comparison.
    Filter(Filter),
    /// Recursive descent: the value itself and all nested maps and lists.
    Descend,
}

#[derive(Debug, Clone, PartialEq)]
struct Filter {
    left: Operand,
    comparison: Option<(Comparison, Operand)>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    /// Below the element: `@.type`.
    Path(JsonPath),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl JsonPath {
    /// Every value the path leads to, in order; none when something on the way is missing.
    pub fn find<'v>(&self, value: &'v Value) -> Vec<&'v Value> {
        let mut found = vec![value];
        for step in &self.steps {
            let mut next = Vec::new();
            for value in found {
                step.follow(value, &mut next);
            }
            if *step == Step::Descend {
                // INVARIANT: no step leads to a value twice.
                let mut seen = BTreeSet::new();
                next.retain(|value| seen.insert(std::ptr::from_ref::<Value>(value)));
            }
            found = next;
        }
        found
    }

    /// The first value the path leads to.
    pub fn first<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.find(value).first().copied()
    }
}

impl Step {
    fn follow<'v>(&self, value: &'v Value, found: &mut Vec<&'v Value>) {
        match (self, value) {
            (Self::Fields(names), Value::Object(entries)) => {
                found.extend(names.iter().filter_map(|name| entries.get(name)));
            }
            (Self::All, Value::Object(entries)) => found.extend(entries.values()),
            (Self::All, Value::Array(elements)) => found.extend(elements),
            (Self::Index(index), Value::Array(elements)) => {
                found.extend(position(*index, elements.len()).and_then(|at| elements.get(at)));
            }
            (Self::Slice { from, to, step }, Value::Array(elements)) => {
                let length = elements.len();
                let bound = |bound: Option<i64>, default: usize| {
                    bound.map_or(default, |bound| {
                        position(bound, length).unwrap_or(0).min(length)
                    })
                };
                let (from, to) = (bound(*from, 0), bound(*to, length));
                let slice = elements.get(from..to).unwrap_or_default();
                found.extend(slice.iter().step_by(*step));
            }
            (Self::Descend, value) => descend(value, found),
            (Self::Filter(filter), Value::Array(elements)) => {
                found.extend(elements.iter().filter(|element| filter.holds(element)));
            }
            _ => {}
        }
    }
}

/// All nested maps and lists in pre-order.
fn descend<'v>(value: &'v Value, found: &mut Vec<&'v Value>) {
    let mut waiting = vec![value];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Object(entries) if !entries.is_empty() => {
                waiting.extend(entries.values().rev());
            }
            Value::Array(elements) if !elements.is_empty() => {
                waiting.extend(elements.iter().rev());
            }
            Value::String(text) if !text.is_empty() => {}
            _ => continue,
        }
        found.push(value);
    }
}

/// Counts from the end below zero; nothing before the beginning.
fn position(index: i64, length: usize) -> Option<usize> {
    let index = if index < 0 {
        index.checked_add_unsigned(length as u64)?
    } else {
        index
    };
    usize::try_from(index).ok()
}

impl Filter {
    fn holds(&self, element: &Value) -> bool {
        let left = self.left.value(element);
        let Some((comparison, right)) = &self.comparison else {
            return left.is_some();
        };
        match (left, right.value(element)) {
            (Some(left), Some(right)) => comparison.holds(left, right),
            _ => false,
        }
    }
}

impl Operand {
    fn value<'v>(&'v self, element: &'v Value) -> Option<&'v Value> {
        match self {
            Self::Path(path) => path.first(element),
            Self::Literal(value) => Some(value),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let order = match (left, right) {
            (Value::Number(left), Value::Number(right)) => {
                left.as_f64().partial_cmp(&right.as_f64())
            }
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (left, right) if left == right => Some(Ordering::Equal),
            _ => None,
        };
        match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessOrEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            Self::Greater => order == Some(Ordering::Greater),
            Self::GreaterOrEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}
