//! JSON pointers: `/spec/ports/0`, `/spec/ports/-`, `/spec/ports/-1`, `/metadata/labels/a~1b`.

use serde_json::Value;
use std::fmt;

/// A JSON pointer, split into the parent path and the last token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pointer {
    parents: Vec<String>,
    last: String,
}

impl Pointer {
    /// Parses a pointer. The empty pointer (the whole document) is rejected because it has no parent.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let rest = text
            .strip_prefix('/')
            .ok_or_else(|| format!("missing path {text:?}"))?;
        let mut parents: Vec<String> = rest.split('/').map(unescape).collect();
        let last = parents.pop().unwrap_or_default();
        Ok(Self { parents, last })
    }

    /// Number of tokens.
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

    /// Looks up the value. A missing parent or an invalid list index is an error.
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

    /// Number of list elements at and after the position; zero if the parent is not a list.
    pub(super) fn behind(&self, document: &mut Value) -> usize {
        match self.parent(document) {
            Ok(Value::Array(elements)) if self.last != "-" => {
                let length = elements.len();
                index(&self.last, length).map_or(0, |at| length - at)
            }
            _ => 0,
        }
    }

    /// Adds a member, or inserts an element before the index.
    pub(super) fn add(&self, document: &mut Value, value: Value) -> Result<(), String> {
        match self.parent(document)? {
            Value::Object(entries) => {
                entries.insert(self.last.clone(), value);
            }
            Value::Array(elements) if self.last == "-" => elements.push(value),
            Value::Array(elements) => {
                // The index counts in the resulting list, so that -1 is the new last element.
                let at = index(&self.last, elements.len() + 1)?;
                elements.insert(at, value);
            }
            _ => return Err(format!("doc is missing path: {self}")),
        }
        Ok(())
    }

    /// Removes and returns a value.
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

    /// Replaces a value. In a map the key may be absent, as upstream permits.
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

/// Parses a list index; negative numbers count from the end.
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
