//! Type errors.

use std::fmt;

/// A path at which a value does not match its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// Path of the value: `.spec.ports[port=80]`.
    pub path: String,
    /// Error message.
    pub problem: String,
}

/// All type errors of a value; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TypeErrors(pub Vec<TypeError>);

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
        if let [only] = &*self.0 {
            return only.fmt(out);
        }
        out.write_str("errors:")?;
        for error in &self.0 {
            write!(out, "\n  {error}")?;
        }
        Ok(())
    }
}

impl TypeErrors {
    /// Error for the list element at an index.
    pub(super) fn of_element(index: usize, problem: &str) -> Self {
        Self(vec![TypeError {
            path: String::new(),
            problem: format!("element {index}: {problem}"),
        }])
    }

    /// Prepends a path element to all errors.
    pub(super) fn below(mut self, element: &impl fmt::Display) -> Self {
        for error in &mut self.0 {
            error.path = format!("{element}{}", error.path);
        }
        self
    }
}
