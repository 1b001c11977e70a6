//! JSON patch (RFC 6902) with the API server's deviations: negative indices count from the end, and `test` for null
//! passes on an absent field.

mod pointer;

use lockstep_object::field::{Path, report_unknown};
use lockstep_object::incoming::type_name;
use lockstep_object::json::{self, DEPTH_MAX};
use pointer::Pointer;
use serde_json::Value;

/// Maximum number of operations in a patch; larger patches are rejected with 413.
pub const OPERATIONS_MAX: usize = 10_000;
/// Maximum number of bytes that `copy` operations may add to an object.
pub const COPY_BYTES_MAX: usize = 3 * 1024 * 1024;
/// Maximum number of values that `move` operations may relocate; bounds the run time of a patch.
pub const MOVED_VALUES_MAX: usize = 10_000_000;

/// Maximum number of list elements shifted by insertions and removals; bounds the run time of a patch.
pub const SHIFTED_VALUES_MAX: usize = 500_000_000;

/// Errors of decoding or applying a JSON patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    /// The patch is not a list of operations: 400 `error decoding patch: …`.
    #[error("json: cannot unmarshal {0} into Go value of type jsonpatch.Patch")]
    NotAList(&'static str),
    /// More operations than [`OPERATIONS_MAX`]: 413.
    #[error("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {0}")]
    TooManyOperations(usize),
    /// A `test` operation found another value: 422.
    #[error("operation {index}: testing value {path} failed")]
    TestFailed {
        /// Index of the operation.
        index: usize,
        /// The path that was tested.
        path: String,
    },
    /// An operation has an unknown `op` or lacks a member: 422.
    #[error("operation {index}: {problem}")]
    Operation {
        /// Index of the operation.
        index: usize,
        /// Error message.
        problem: String,
    },
}

impl JsonPatchError {
    fn at(index: usize, problem: impl Into<String>) -> Self {
        Self::Operation {
            index,
            problem: problem.into(),
        }
    }
}

/// A decoded JSON patch.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonPatch {
    operations: Vec<Operation>,
    unknown: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum Operation {
    Add(Pointer, Value),
    Remove(Pointer),
    Replace(Pointer, Value),
    Move {
        from: Pointer,
        to: Pointer,
    },
    Copy {
        from: Pointer,
        to: Pointer,
    },
    /// Without a value the field must be absent or null.
    Test(Pointer, Option<Value>),
}

impl JsonPatch {
    /// Decodes a patch. A `test` for null passes on an absent field, since clients cannot tell one from the other.
    pub fn from_value(patch: &Value) -> Result<Self, JsonPatchError> {
        Self::decode(patch, |value| value.filter(|value| !value.is_null()))
    }

    /// Decodes a patch that an expression built. A `test` for null fails on an absent field.
    pub fn from_expression(patch: &Value) -> Result<Self, JsonPatchError> {
        Self::decode(patch, |value| value)
    }

    fn decode(
        patch: &Value,
        tested: impl Fn(Option<&Value>) -> Option<&Value>,
    ) -> Result<Self, JsonPatchError> {
        let Value::Array(operations) = patch else {
            return Err(JsonPatchError::NotAList(type_name(patch)));
        };
        if operations.len() > OPERATIONS_MAX {
            return Err(JsonPatchError::TooManyOperations(operations.len()));
        }
        if let Some(other) = operations.iter().find(|operation| !operation.is_object()) {
            return Err(JsonPatchError::NotAList(type_name(other)));
        }
        let mut unknown = Vec::new();
        let mut parsed = Vec::with_capacity(operations.len());
        for (index, operation) in operations.iter().enumerate() {
            let fields = operation
                .as_object()
                .into_iter()
                .flat_map(|fields| fields.keys());
            let others =
                fields.filter(|field| !matches!(field.as_str(), "op" | "path" | "from" | "value"));
            for field in others {
                report_unknown(&Path::ROOT.index(index).field(field), &mut unknown);
            }
            let operation = Operation::from_value(operation, &tested)
                .map_err(|problem| JsonPatchError::at(index, problem))?;
            parsed.push(operation);
        }
        Ok(Self {
            operations: parsed,
            unknown,
        })
    }

    /// Unknown members of operations, in the form that field validation reports: `[1].foo`.
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown
    }

    /// Applies all operations in order. After an error the value is partially modified and must be discarded.
    pub fn apply(&self, target: &mut Value) -> Result<(), JsonPatchError> {
        let mut limits = Limits::default();
        for (index, operation) in self.operations.iter().enumerate() {
            if let Operation::Test(path, wanted) = operation {
                let found = path.get(target);
                let found = found.map_err(|problem| JsonPatchError::at(index, problem))?;
                if !test(found, wanted.as_ref()) {
                    let path = path.to_string();
                    return Err(JsonPatchError::TestFailed { index, path });
                }
                continue;
            }
            operation
                .apply(target, &mut limits)
                .map_err(|problem| JsonPatchError::at(index, problem))?;
        }
        Ok(())
    }
}

/// Resources consumed so far by all operations of a patch.
#[derive(Default)]
struct Limits {
    copied_bytes: usize,
    moved_values: usize,
    shifted_values: usize,
}

impl Operation {
    fn from_value(
        operation: &Value,
        tested: impl Fn(Option<&Value>) -> Option<&Value>,
    ) -> Result<Self, String> {
        let pointer = |field: &str| match operation.get(field) {
            Some(Value::String(text)) => Pointer::parse(text),
            _ => Err(format!("missing {field}")),
        };
        // Clients that omit empty values mean null.
        let value = || operation.get("value").cloned().unwrap_or_default();
        let (from, to) = ("from", "path");
        Ok(
            match operation
                .get("op")
                .and_then(Value::as_str)
                .unwrap_or_default()
            {
                "add" => Self::Add(pointer(to)?, value()),
                "remove" => Self::Remove(pointer(to)?),
                "replace" => Self::Replace(pointer(to)?, value()),
                "move" => Self::Move {
                    from: pointer(from)?,
                    to: pointer(to)?,
                },
                "copy" => Self::Copy {
                    from: pointer(from)?,
                    to: pointer(to)?,
                },
                "test" => {
                    let value = tested(operation.get("value"));
                    Self::Test(pointer(to)?, value.cloned())
                }
                other => return Err(format!("Unexpected kind: {other}")),
            },
        )
    }

    fn apply(&self, target: &mut Value, limits: &mut Limits) -> Result<(), String> {
        match self {
            Self::Add(path, value) => {
                fits(path, value)?;
                limits.shifted(path.behind(target))?;
                path.add(target, value.clone())
            }
            Self::Remove(path) => {
                limits.shifted(path.behind(target))?;
                path.remove(target).map(drop)
            }
            Self::Replace(path, value) => {
                fits(path, value)?;
                path.replace(target, value.clone())
            }
            Self::Move { from, to } => {
                limits.shifted(from.behind(target))?;
                let value = from.remove(target)?;
                limits.moved(&value)?;
                fits(to, &value)?;
                limits.shifted(to.behind(target))?;
                to.add(target, value)
            }
            Self::Copy { from, to } => {
                let value = from.get(target)?.cloned().unwrap_or_default();
                limits.copied(&value)?;
                fits(to, &value)?;
                limits.shifted(to.behind(target))?;
                to.add(target, value)
            }
            Self::Test(..) => Ok(()),
        }
    }
}

/// True if a value is the wanted one.
fn test(found: Option<&Value>, wanted: Option<&Value>) -> bool {
    match (found, wanted) {
        (found, None) => found.is_none_or(Value::is_null),
        (found, wanted) => found == wanted,
    }
}

/// Rejects results deeper than the decoder accepts; otherwise the stored object could not be read back.
fn fits(path: &Pointer, value: &Value) -> Result<(), String> {
    if path.depth() + json::depth(value) > DEPTH_MAX {
        return Err(format!("exceeded max depth of {DEPTH_MAX}"));
    }
    Ok(())
}

impl Limits {
    fn copied(&mut self, value: &Value) -> Result<(), String> {
        self.copied_bytes = self.copied_bytes.saturating_add(json::encode(value).len());
        if self.copied_bytes > COPY_BYTES_MAX {
            return Err(format!("copying adds more than {COPY_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    fn shifted(&mut self, values: usize) -> Result<(), String> {
        self.shifted_values = self.shifted_values.saturating_add(values);
        if self.shifted_values > SHIFTED_VALUES_MAX {
            return Err(format!(
                "lists are shifted by more than {SHIFTED_VALUES_MAX} values"
            ));
        }
        Ok(())
    }

    fn moved(&mut self, value: &Value) -> Result<(), String> {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            self.moved_values += 1;
            match value {
                Value::Array(elements) => open.extend(elements),
                Value::Object(entries) => open.extend(entries.values()),
                _ => {}
            }
        }
        if self.moved_values > MOVED_VALUES_MAX {
            return Err(format!(
                "moving carries more than {MOVED_VALUES_MAX} values"
            ));
        }
        Ok(())
    }
}
