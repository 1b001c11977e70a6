//! Type errors.

use std::fmt;

use lockstep_object::field::{FIELD_BYTES_MAX, FIELD_ERRORS_MAX, SHOWN_BYTES_MAX};
use lockstep_object::go;

/// A path at which a value does not match its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// Path of the value: `.spec.ports[port=80]`.
    pub path: String,
    /// Error message.
    pub problem: String,
}

/// The type errors of a value: the first [`FIELD_ERRORS_MAX`] ones, and the number of the rest; never empty.
#[derive(Debug, Clone, PartialEq, Eq, Default, thiserror::Error)]
pub struct TypeErrors(Box<Found>);

/// Apart, so that the results of functions that recurse are small.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Found {
    first: Vec<TypeError>,
    more: usize,
}

impl fmt::Display for TypeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            out.write_str(&self.problem)
        } else {
            write!(out, "{}: {}", self.path, self.problem)
        }
    }
}

impl fmt::Display for TypeErrors {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = &*self.0.first {
            return only.fmt(out);
        }
        out.write_str("errors:")?;
        for error in &self.0.first {
            write!(out, "\n  {error}")?;
        }
        match self.0.more {
            0 => Ok(()),
            more => write!(out, "\n  {more} more"),
        }
    }
}

impl TypeErrors {
    /// Error for the list element at an index.
    pub(super) fn of_element(index: usize, problem: &str) -> Self {
        let mut errors = Self::default();
        errors.push("", || format!("element {index}: {problem}"));
        errors
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.first.is_empty()
    }

    /// Adds an error, which is made if it is kept.
    pub(super) fn push(&mut self, path: &str, problem: impl FnOnce() -> String) {
        if self.0.first.len() == FIELD_ERRORS_MAX {
            self.0.more += 1;
            return;
        }
        let (mut path, mut problem) = (path.to_owned(), problem());
        go::shorten(&mut path, FIELD_BYTES_MAX);
        go::shorten(&mut problem, SHOWN_BYTES_MAX);
        self.0.first.push(TypeError { path, problem });
    }

    /// Prepends a path element to all errors.
    pub(super) fn below(mut self, element: &impl fmt::Display) -> Self {
        for error in &mut self.0.first {
            error.path = format!("{element}{}", error.path);
            go::shorten(&mut error.path, FIELD_BYTES_MAX);
        }
        self
    }
}
