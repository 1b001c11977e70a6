//! Findings of a validation.

use lockstep_object::field::{FieldError, FieldErrors, Path, Step};
use std::fmt;

/// Errors, and errors that are forgiven because nothing changed there.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    errors: FieldErrors,
    warnings: FieldErrors,
    /// Number of path segments above the validated value.
    base: usize,
}

impl Findings {
    /// For a value at this depth; messages name fields relative to the value.
    pub(crate) fn below(base: usize) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// Adds an error, which is made if it is kept.
    pub(crate) fn push(&mut self, error: impl FnOnce() -> FieldError) {
        self.errors.push_with(error);
    }

    pub(crate) fn len(&self) -> usize {
        self.errors.len()
    }

    pub(super) fn base(&self) -> usize {
        self.base
    }

    /// Makes the errors from here on warnings.
    pub(super) fn forgive(&mut self, from: usize) {
        self.warnings.append(self.errors.split_off(from));
    }

    /// Takes back the errors from here on, and the warnings from there on.
    pub(super) fn take(&mut self, from: usize) -> FieldErrors {
        self.errors.split_off(from)
    }

    pub(super) fn extend(&mut self, errors: FieldErrors) {
        self.errors.append(errors);
    }

    pub(crate) fn into_parts(self) -> (FieldErrors, Vec<String>) {
        let warnings = self.warnings.iter().map(FieldError::to_string).collect();
        (self.errors, warnings)
    }
}

/// A place as messages name it: from the judged value on, nothing for the value itself.
#[derive(Clone, Copy)]
pub(super) struct Name<'a>(pub(super) &'a Path<'a>, pub(super) usize);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.steps().into_iter().skip(self.1).enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Field(name) | Step::Key(name) if at == 0 => f.write_str(name)?,
                Step::Field(name) | Step::Key(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}
