//! Field paths and field errors.

mod error;
mod path;

pub use error::{ErrorType, FieldError, FieldErrors};
pub use path::{Path, Step};
