//! Optional parts of a node that most schemas lack.

use std::ops::Deref;

/// An optional part that takes no heap memory if absent and dereferences to a static empty value.
#[derive(Debug)]
pub(crate) struct Maybe<T>(Option<Box<T>>);

/// Types with a static empty value for [`Maybe`].
pub(crate) trait Absent: 'static {
    /// The empty value.
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
