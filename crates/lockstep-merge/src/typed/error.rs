//! What a value of a type may not be.

use std::fmt;

/// One place where a value is not of its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeError {
    /// Where: `.spec.ports[port=80]`.
    pub path: String,
    /// What is wrong.
    pub problem: String,
}

/// All places where a value is not of its type; at least one.
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
    /// The error of an element at an index of a list.
    pub(super) fn of_element(index: usize, problem: &str) -> Self {
        Self(vec![TypeError {
            path: String::new(),
            problem: format!("element {index}: {problem}"),
        }])
    }

    /// The same errors, seen from above.
    pub(super) fn below(mut self, element: &impl fmt::Display) -> Self {
        for error in &mut self.0 {
            error.path = format!("{element}{}", error.path);
        }
        self
    }
}
