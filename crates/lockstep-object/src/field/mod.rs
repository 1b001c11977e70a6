//! Where in an object something is, and what is wrong there.

mod error;
mod path;

pub use error::{ErrorType, FieldError, FieldErrors};
pub use path::{Path, Step};
