//! Field errors with upstream's messages.

use super::{Path, SHOWN_BYTES_MAX, Shown};
use crate::go;
use std::fmt;

/// Bytes of a field path in an error; a longer one is cut.
pub const FIELD_BYTES_MAX: usize = 1024;
/// Bytes of the explanation of an error; a longer one is cut.
pub const DETAIL_BYTES_MAX: usize = 4096;

/// Type of a field error. Its name is the `reason` of the cause in a `Status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ErrorType {
    /// The value names something that does not exist.
    NotFound,
    /// The value is absent.
    Required,
    /// The value occurs more than once.
    Duplicate,
    /// The value violates a rule.
    Invalid,
    /// The value is none of the possible ones.
    NotSupported,
    /// The value may not be set at all, here and now.
    Forbidden,
    /// Too many bytes.
    TooLong,
    /// Too few bytes.
    TooShort,
    /// Too many elements.
    TooMany,
    /// Too few elements.
    TooFew,
    /// The value is of another type.
    TypeInvalid,
    /// Our own fault.
    Internal,
}

impl ErrorType {
    /// The `reason` of the cause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Internal => "InternalError",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }

    fn shows_value(self) -> bool {
        !matches!(
            self,
            Self::Required | Self::Forbidden | Self::TooLong | Self::TooShort | Self::Internal
        )
    }
}

/// One fault of one field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// Error type.
    pub error_type: ErrorType,
    /// Field path: `spec.ports[0].name`.
    pub field: String,
    /// The invalid value, if it is shown.
    pub value: Option<Shown>,
    /// Explanation of the expected value.
    pub detail: String,
}

impl FieldError {
    fn new(
        error_type: ErrorType,
        path: &Path<'_>,
        value: Option<Shown>,
        detail: impl Into<String>,
    ) -> Self {
        let mut detail = detail.into();
        go::shorten(&mut detail, DETAIL_BYTES_MAX);
        Self {
            error_type,
            field: path.shown(),
            value,
            detail,
        }
    }

    /// Bytes that a message needs for it.
    pub(super) fn bytes(&self) -> usize {
        let value = self.value.as_ref().map_or(0, |value| value.as_str().len());
        self.error_type.text().len() + self.field.len() + value + self.detail.len()
    }

    /// The value names something that does not exist.
    pub fn not_found(path: &Path<'_>, value: impl Into<Shown>) -> Self {
        Self::new(ErrorType::NotFound, path, Some(value.into()), "")
    }

    /// Invalid value that is not shown.
    pub fn invalid_whole(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, path, None, detail)
    }

    /// [`not_found`](Self::not_found) with a detail message.
    pub fn not_found_because(
        path: &Path<'_>,
        value: impl Into<Shown>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorType::NotFound, path, Some(value.into()), detail)
    }

    /// The value is absent.
    pub fn required(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Required, path, None, detail)
    }

    /// The value occurs more than once.
    pub fn duplicate(path: &Path<'_>, value: impl Into<Shown>) -> Self {
        Self::new(ErrorType::Duplicate, path, Some(value.into()), "")
    }

    /// The value breaks a rule.
    pub fn invalid(path: &Path<'_>, value: impl Into<Shown>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, path, Some(value.into()), detail)
    }

    /// The value is of another type.
    pub fn type_invalid(
        path: &Path<'_>,
        value: impl Into<Shown>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorType::TypeInvalid, path, Some(value.into()), detail)
    }

    /// The value is none of these.
    pub fn not_supported<'v>(
        path: &Path<'_>,
        value: impl Into<Shown>,
        supported: impl IntoIterator<Item = &'v str>,
    ) -> Self {
        let mut detail = String::new();
        for value in supported {
            if detail.len() > DETAIL_BYTES_MAX {
                break;
            }
            let value = go::start_of(value, SHOWN_BYTES_MAX);
            let before = if detail.is_empty() {
                "supported values: "
            } else {
                ", "
            };
            detail.push_str(before);
            detail.push_str(&go::quote(value));
        }
        Self::new(ErrorType::NotSupported, path, Some(value.into()), detail)
    }

    /// The value may not be set.
    pub fn forbidden(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Forbidden, path, None, detail)
    }

    /// More bytes than this.
    pub fn too_long(path: &Path<'_>, bytes_max: usize) -> Self {
        let unit = if bytes_max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {bytes_max} {unit}");
        Self::new(ErrorType::TooLong, path, None, detail)
    }

    /// More elements than these.
    pub fn too_many(path: &Path<'_>, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        Self::new(ErrorType::TooMany, path, Some(Shown::from(actual)), detail)
    }

    /// Our own fault.
    pub fn internal(path: &Path<'_>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Internal, path, None, detail)
    }

    /// The message without the field: `Invalid value: 7: must be less`.
    pub fn body(&self) -> String {
        let mut text = self.error_type.text().to_owned();
        if let (true, Some(value)) = (self.error_type.shows_value(), &self.value) {
            text.push_str(": ");
            text.push_str(value.as_str());
        }
        if !self.detail.is_empty() {
            text.push_str(": ");
            text.push_str(&self.detail);
        }
        text
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}
