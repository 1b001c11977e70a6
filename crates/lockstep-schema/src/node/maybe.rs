//! A part of a schema that most have nothing of.

use std::ops::Deref;

/// A part that takes no memory where it says nothing, and reads as one that says nothing.
#[derive(Debug)]
pub(crate) struct Maybe<T>(Option<Box<T>>);

/// What can be said nothing about.
pub(crate) trait Absent: 'static {
    /// What there is where nothing is said.
    fn absent() -> &'static Self;
}

impl<T: Absent> Deref for Maybe<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(said) => said,
            None => T::absent(),
        }
    }
}

impl<T> From<Option<T>> for Maybe<T> {
    fn from(said: Option<T>) -> Self {
        Self(said.map(Box::new))
    }
}
