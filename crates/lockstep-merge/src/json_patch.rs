//! RFC 6902 as API servers apply it: a list of operations, all or none.

use serde_json::{Map, Value};

use crate::pointer::{Pointer, index};

/// The most operations of a patch.
pub const OPERATIONS_MAX: usize = 10_000;
/// The most bytes that `copy` may add to an object.
pub const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// A patch that can be read.
#[derive(Clone, PartialEq, Debug)]
pub struct JsonPatch {
    operations: Vec<Operation>,
    unknown: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
enum Operation {
    Add { path: Pointer, value: Value },
    Remove { path: Pointer },
    Replace { path: Pointer, value: Value },
    Move { from: Pointer, path: Pointer },
    Copy { from: Pointer, path: Pointer },
    Test { path: Pointer, value: Value },
}

/// Why a value is no patch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PatchSyntaxError {
    /// It is no list of maps.
    #[error("error decoding patch: a JSON patch is a list of operations")]
    Shape,
    /// It has more than [`OPERATIONS_MAX`] operations.
    #[error("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {operations}")]
    TooMany {
        /// How many.
        operations: usize,
    },
    /// An operation that does not exist, or lacks something.
    #[error("operation {at} of the patch: {what}")]
    Operation {
        /// Which one, from 0.
        at: usize,
        /// What is wrong.
        what: &'static str,
    },
}

/// Why a patch does not fit an object. The object is as it was.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JsonPatchError {
    /// There is nothing where an operation points.
    #[error("operation {at} of the patch: there is no such path")]
    NoSuchPath {
        /// Which one, from 0.
        at: usize,
    },
    /// A test failed.
    #[error("operation {at} of the patch: testing value failed")]
    TestFailed {
        /// Which one, from 0.
        at: usize,
    },
    /// Copies add more than [`COPIED_BYTES_MAX`].
    #[error("operation {at} of the patch: copies add more than {COPIED_BYTES_MAX} bytes")]
    TooLarge {
        /// Which one, from 0.
        at: usize,
    },
}

impl JsonPatch {
    /// Reads a patch.
    pub fn read(patch: Value) -> Result<Self, PatchSyntaxError> {
        let Value::Array(items) = patch else {
            return Err(PatchSyntaxError::Shape);
        };
        if items.len() > OPERATIONS_MAX {
            let operations = items.len();
            return Err(PatchSyntaxError::TooMany { operations });
        }
        let mut patch = Self {
            operations: Vec::with_capacity(items.len()),
            unknown: Vec::new(),
        };
        for (at, item) in items.into_iter().enumerate() {
            let Value::Object(fields) = item else {
                return Err(PatchSyntaxError::Shape);
            };
            patch.read_operation(at, fields)?;
        }
        Ok(patch)
    }

    /// Fields of operations that mean nothing: `[1].foo`.
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown
    }

    fn read_operation(
        &mut self,
        at: usize,
        mut fields: Map<String, Value>,
    ) -> Result<(), PatchSyntaxError> {
        let wrong = |what| PatchSyntaxError::Operation { at, what };
        let pointer = |value: Option<Value>, what| {
            let text = value.as_ref().and_then(Value::as_str);
            text.and_then(Pointer::parse).ok_or(wrong(what))
        };
        let kind = fields.remove("op");
        let path = pointer(fields.remove("path"), "`path` is no JSON pointer")?;
        let value = fields.remove("value");
        let from = fields.remove("from");
        let unknown = fields.keys().map(|field| format!("[{at}].{field}"));
        self.unknown.extend(unknown);
        let value_needed = |value: Option<Value>| value.ok_or(wrong("`value` is missing"));
        let from_needed = |from| pointer(from, "`from` is no JSON pointer");
        let operation = match kind.as_ref().and_then(Value::as_str) {
            Some("add") => Operation::Add {
                path,
                value: value_needed(value)?,
            },
            Some("remove") => Operation::Remove { path },
            Some("replace") => Operation::Replace {
                path,
                value: value_needed(value)?,
            },
            Some("move") => Operation::Move {
                from: from_needed(from)?,
                path,
            },
            Some("copy") => Operation::Copy {
                from: from_needed(from)?,
                path,
            },
            Some("test") => Operation::Test {
                path,
                value: value.unwrap_or_default(),
            },
            _ => {
                let what = "`op` is none of add, remove, replace, move, copy and test";
                return Err(wrong(what));
            }
        };
        self.operations.push(operation);
        Ok(())
    }

    /// Applies all operations, or none.
    pub fn apply(&self, target: &mut Value) -> Result<(), JsonPatchError> {
        let mut patched = target.clone();
        let mut copied = 0;
        for (at, operation) in self.operations.iter().enumerate() {
            operation.apply(&mut patched, at, &mut copied)?;
        }
        *target = patched;
        Ok(())
    }
}

impl Operation {
    fn apply(&self, root: &mut Value, at: usize, copied: &mut usize) -> Result<(), JsonPatchError> {
        let missing = || JsonPatchError::NoSuchPath { at };
        match self {
            Self::Add { path, value } => add(root, path, value.clone()).ok_or_else(missing),
            Self::Remove { path } => remove(root, path).map(drop).ok_or_else(missing),
            Self::Replace { path, value } => replace(root, path, value.clone()).ok_or_else(missing),
            Self::Move { from, path } => {
                if path != from && path.is_inside(from) {
                    return Err(missing());
                }
                let value = remove(root, from).ok_or_else(missing)?;
                add(root, path, value).ok_or_else(missing)
            }
            Self::Copy { from, path } => {
                let value = from.find(root).ok_or_else(missing)?.clone();
                *copied += value.to_string().len();
                if *copied > COPIED_BYTES_MAX {
                    return Err(JsonPatchError::TooLarge { at });
                }
                add(root, path, value).ok_or_else(missing)
            }
            Self::Test { path, value } => {
                let found = path.find(root).unwrap_or(&Value::Null);
                let is_equal = found == value;
                is_equal
                    .then_some(())
                    .ok_or(JsonPatchError::TestFailed { at })
            }
        }
    }
}

fn add(root: &mut Value, path: &Pointer, value: Value) -> Option<()> {
    if path.steps().is_empty() {
        *root = value;
        return Some(());
    }
    match path.parent(root)? {
        (Value::Object(fields), field) => drop(fields.insert(field.to_owned(), value)),
        (Value::Array(items), "-") => items.push(value),
        (Value::Array(items), step) => {
            // A negative place counts from the end of the list with the new item in it.
            let place = index(step, items.len() + 1)?;
            if place > items.len() {
                return None;
            }
            items.insert(place, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(root: &mut Value, path: &Pointer) -> Option<Value> {
    match path.parent(root)? {
        (Value::Object(fields), field) => fields.remove(field),
        (Value::Array(items), step) => {
            let place = index(step, items.len())?;
            (place < items.len()).then(|| items.remove(place))
        }
        _ => None,
    }
}

fn replace(root: &mut Value, path: &Pointer, value: Value) -> Option<()> {
    if path.steps().is_empty() {
        *root = value;
        return Some(());
    }
    let found = match path.parent(root)? {
        (Value::Object(fields), field) => fields.get_mut(field)?,
        (Value::Array(items), step) => {
            let place = index(step, items.len())?;
            items.get_mut(place)?
        }
        _ => return None,
    };
    *found = value;
    Some(())
}
