//! Object metadata: field types, fields set by the server, and validation on create and update.

mod generate_name;
mod normalize;
mod owners;
mod prepare;
mod time;
mod validate;

pub use generate_name::{
    GENERATE_NAME_ALPHABET, GENERATE_NAME_RETRIES_MAX, GENERATE_NAME_SUFFIX_BYTES, generated_name,
};
pub use normalize::{Malformed, TypeMismatch, is_type_or_metadata, normalize_metadata};
pub use owners::drop_duplicate_owners;
pub use prepare::{
    Creation, StatusField, check_create, check_namespace, check_url_name, next_generation,
    prepare_create, prepare_update,
};
pub use time::{Micros, Seconds, TimeError};
pub use validate::{
    ANNOTATIONS_BYTES_MAX, Scope, finalizer_warnings, validate_create,
    validate_finalizer_of_builtin, validate_finalizers_of_builtin, validate_metadata,
    validate_update,
};
