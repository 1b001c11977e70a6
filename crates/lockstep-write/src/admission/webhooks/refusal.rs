//! Errors of writes that a webhook denied or cannot be called for.

use lockstep_object::{ApiError, Cause, Details, Value, WebhookDenial};

/// Lowest status code of a denial.
const REFUSAL_CODE_MIN: u16 = 400;

/// Error of a denial: the webhook's own `Status` as far as it is valid, with the webhook's name in the message.
pub fn denied(webhook: &str, result: &Value) -> ApiError {
    let text = |field: &str| result[field].as_str().unwrap_or_default();
    let denied = format!("admission webhook {webhook:?} denied the request");
    let message = match (text("message"), text("reason")) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let code = result["code"].as_u64();
    let code = code.and_then(|code| u16::try_from(code).ok());
    let code = code.filter(|code| (REFUSAL_CODE_MIN..=999).contains(code));
    ApiError::DeniedByWebhook(Box::new(WebhookDenial {
        message,
        reason: text("reason").to_owned(),
        code: code.unwrap_or(REFUSAL_CODE_MIN),
        details: details(&result["details"]),
    }))
}

/// 400 for a dry run that matches a webhook with side effects.
pub fn no_dry_run(webhook: &str) -> ApiError {
    ApiError::bad_request(format!(
        "admission webhook {webhook:?} does not support dry run"
    ))
}

fn details(details: &Value) -> Option<Box<Details>> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    details.as_object()?;
    let causes = details["causes"].as_array().into_iter().flatten();
    let causes = causes.map(|cause| Cause {
        reason: text(&cause["reason"]),
        message: text(&cause["message"]),
        field: text(&cause["field"]),
    });
    let seconds = details["retryAfterSeconds"].as_u64().unwrap_or_default();
    Some(Box::new(Details {
        name: text(&details["name"]),
        group: text(&details["group"]),
        kind: text(&details["kind"]),
        uid: text(&details["uid"]),
        causes: causes.collect(),
        retry_after_seconds: u32::try_from(seconds).unwrap_or(u32::MAX),
    }))
}
