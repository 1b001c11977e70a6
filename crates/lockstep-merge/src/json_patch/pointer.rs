//! Places in a document: `/spec/ports/0`, `/spec/ports/-`, `/spec/ports/-1`, `/metadata/labels/a~1b`.

use serde_json::Value;
use std::fmt;

/// The way to a value: to its parent, and from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    parents: Vec<String>,
    last: String,
}

impl Pointer {
    /// The whole document has no parent, so it is no place to change.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let rest = text
            .strip_prefix('/')
            .ok_or_else(|| format!("missing path {text:?}"))?;
        let mut parents: Vec<String> = rest.split('/').map(unescape).collect();
        let last = parents.pop().unwrap_or_default();
        Ok(Self { parents, last })
    }

    /// How deep the place is.
    pub(super) fn depth(&self) -> usize {
        self.parents.len() + 1
    }

    fn parent<'v>(&self, document: &'v mut Value) -> Result<&'v mut Value, String> {
        let mut value = document;
        for step in &self.parents {
            value = match value {
                Value::Object(entries) => entries.get_mut(step),
                Value::Array(elements) => {
                    let index = index(step, elements.len())?;
                    elements.get_mut(index)
                }
                _ => None,
            }
            .ok_or_else(|| format!("doc is missing path: {self}"))?;
        }
        Ok(value)
    }

    /// The value, if there is one. A place whose parent is not there, or no element of its list, is an error.
    pub(super) fn get<'v>(&self, document: &'v Value) -> Result<Option<&'v Value>, String> {
        let mut value = document;
        for step in &self.parents {
            value = match value {
                Value::Object(entries) => entries.get(step),
                Value::Array(elements) => elements.get(index(step, elements.len())?),
                _ => None,
            }
            .ok_or_else(|| format!("doc is missing path: {self}"))?;
        }
        match value {
            Value::Object(entries) => Ok(entries.get(&self.last)),
            Value::Array(elements) => Ok(elements.get(index(&self.last, elements.len())?)),
            _ => Err(format!("doc is missing path: {self}")),
        }
    }

    /// How many elements of a list are at the place and behind it; none if it is no place in a list.
    pub(super) fn behind(&self, document: &mut Value) -> usize {
        match self.parent(document) {
            Ok(Value::Array(elements)) if self.last != "-" => {
                let length = elements.len();
                index(&self.last, length).map_or(0, |at| length - at)
            }
            _ => 0,
        }
    }

    /// Adds a field, or an element before the one at the index.
    pub(super) fn add(&self, document: &mut Value, value: Value) -> Result<(), String> {
        match self.parent(document)? {
            Value::Object(entries) => {
                entries.insert(self.last.clone(), value);
            }
            Value::Array(elements) if self.last == "-" => elements.push(value),
            Value::Array(elements) => {
                // Counted in the list as it will be, so that -1 is the new last element.
                let at = index(&self.last, elements.len() + 1)?;
                elements.insert(at, value);
            }
            _ => return Err(format!("doc is missing path: {self}")),
        }
        Ok(())
    }

    /// Takes a value out.
    pub(super) fn remove(&self, document: &mut Value) -> Result<Value, String> {
        match self.parent(document)? {
            Value::Object(entries) => entries
                .remove(&self.last)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {}", self.last)),
            Value::Array(elements) => {
                let at = index(&self.last, elements.len())?;
                Ok(elements.remove(at))
            }
            _ => Err(format!("doc is missing path: {self}")),
        }
    }

    /// Changes a value. In a map it need not be there, as upstream has it.
    pub(super) fn replace(&self, document: &mut Value, value: Value) -> Result<(), String> {
        let found = match self.parent(document)? {
            Value::Object(entries) => {
                let entry = entries.entry(self.last.as_str());
                Some(entry.or_insert(Value::Null))
            }
            Value::Array(elements) => {
                let at = index(&self.last, elements.len())?;
                elements.get_mut(at)
            }
            _ => None,
        };
        let found = found.ok_or_else(|| format!("doc is missing key: {self}"))?;
        *found = value;
        Ok(())
    }
}

/// The index of an element; below zero it counts from the end.
fn index(step: &str, length: usize) -> Result<usize, String> {
    let number: i64 = step.parse().map_err(|_| format!("{step:?} is no index"))?;
    let from_start = if number < 0 {
        number.checked_add_unsigned(length as u64)
    } else {
        Some(number)
    };
    let index = from_start.and_then(|index| usize::try_from(index).ok());
    index
        .filter(|index| *index < length)
        .ok_or_else(|| format!("Unable to access invalid index: {number}"))
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.parents.iter().chain([&self.last]) {
            write!(f, "/{}", step.replace('~', "~0").replace('/', "~1"))?;
        }
        Ok(())
    }
}
