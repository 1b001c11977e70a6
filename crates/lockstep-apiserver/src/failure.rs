//! Conversion of errors to HTTP responses.

use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use lockstep_object::{ApiError, Status};

use crate::authn::{ImpersonationError, Unauthenticated};
use crate::request::BodyError;
use crate::response::{self, Response};

/// Response with the `Status` of an error as its body.
pub fn respond(error: &ApiError) -> Response {
    let status = Status::from(error);
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = response::bytes(code, "application/json", status.to_value().to_string());
    let retry_after = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    if retry_after > 0 {
        let seconds = HeaderValue::from(retry_after);
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    response
}

/// Reason for which the filter chain rejects a request.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Authentication failed.
    Unauthenticated(Unauthenticated),
    /// Impersonation headers are invalid.
    Impersonation(ImpersonationError),
    /// Authorization denied the request.
    Forbidden(ApiError),
    /// `timeout=` is not a duration.
    BadTimeout(String),
    /// The in-flight limit is reached.
    TooBusy,
    /// The deadline has passed.
    Late,
    /// The handler panicked.
    Panicked,
    /// The framing of the request is ambiguous.
    Ambiguous,
}

impl Refusal {
    /// Error for the client.
    pub(crate) fn error(&self) -> ApiError {
        match self {
            Refusal::Unauthenticated(Unauthenticated) => ApiError::Unauthorized,
            Refusal::Impersonation(error) => ApiError::bad_request(error.to_string()),
            Refusal::Forbidden(error) => error.clone(),
            Refusal::BadTimeout(why) => ApiError::bad_request(format!(
                "invalid timeout specified in the request URL - {why}"
            )),
            Refusal::TooBusy => {
                ApiError::too_many_requests("Too many requests, please try again later.", 1)
            }
            Refusal::Late => {
                ApiError::timeout("request did not complete within the allotted timeout", 0)
            }
            Refusal::Panicked => ApiError::internal(
                "this request caused the server to panic; its log has the place under this Audit-Id",
            ),
            Refusal::Ambiguous => ApiError::bad_request(
                "a request has either a Content-Length or a Transfer-Encoding, and only one",
            ),
        }
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        match error {
            BodyError::TooLarge { bytes_max } => ApiError::BodyTooLarge {
                bytes_max: bytes_max as u64,
            },
            BodyError::Broken(error) => {
                ApiError::bad_request(format!("the body could not be read: {error}"))
            }
        }
    }
}
