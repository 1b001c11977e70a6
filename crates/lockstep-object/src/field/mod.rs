//! Field paths and field errors.

mod error;
mod errors;
mod path;
mod shown;

pub use error::{DETAIL_BYTES_MAX, ErrorType, FIELD_BYTES_MAX, FieldError};
pub use errors::{FIELD_ERRORS_BYTES_MAX, FIELD_ERRORS_MAX, FieldErrors};
pub use path::{Path, Step, UNKNOWN_FIELDS_MAX, report_unknown};
pub use shown::{SHOWN_BYTES_MAX, Shown};
