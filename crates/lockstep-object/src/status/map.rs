//! The one place where an error becomes a `Status`: its code, reason, details and causes.

use super::error::{ApiError, InvalidObject, ObjectRef};
use super::{Cause, Details, Outcome, Reason, Status, Success};
use crate::go::shorten;
use crate::kinds::GroupResource;

/// Bytes of the message of a failure. A longer one repeats what the client sent, and is cut.
const MESSAGE_BYTES_MAX: usize = 128 << 10;

impl From<&ApiError> for Status {
    fn from(error: &ApiError) -> Self {
        let mut message = error.to_string();
        shorten(&mut message, MESSAGE_BYTES_MAX);
        let mut status = Self {
            outcome: Outcome::Failure,
            message,
            reason: error.reason(),
            webhook_reason: String::new(),
            details: details(error),
            code: error.code(),
            continue_token: String::new(),
        };
        match error {
            ApiError::ContinueExpired { continue_token } => {
                status.continue_token.clone_from(continue_token);
            }
            ApiError::DeniedByWebhook(denial) => status.webhook_reason.clone_from(&denial.reason),
            _ => {}
        }
        status
    }
}

impl From<&Success> for Status {
    fn from(success: &Success) -> Self {
        let (code, details) = match success {
            Success::Deleted {
                resource,
                name,
                uid,
            } => {
                let uid = uid.clone();
                let about = about(resource, name);
                (200, Some(Box::new(Details { uid, ..about })))
            }
            Success::Created => (201, None),
        };
        Self {
            outcome: Outcome::Success,
            message: String::new(),
            reason: None,
            webhook_reason: String::new(),
            details,
            code,
            continue_token: String::new(),
        }
    }
}

impl ApiError {
    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        match self {
            Self::ConversionFailed(_) => 500,
            Self::NotImplemented(_) => 501,
            Self::DeniedByWebhook(denial) => denial.code,
            Self::DeniedByPolicy(denial) => denial.code,
            other => other.reason().map_or(500, Reason::code),
        }
    }

    /// Machine-readable reason. None for errors whose code has no reason upstream, and for denials by a webhook: their
    /// reason is the webhook's own text, and no code of this server may match on it.
    pub fn reason(&self) -> Option<Reason> {
        Some(match self {
            Self::BadRequest(_) => Reason::BadRequest,
            Self::Unauthorized => Reason::Unauthorized,
            Self::Forbidden { .. } | Self::ForbiddenPath(_) | Self::NamespaceTerminating { .. } => {
                Reason::Forbidden
            }
            Self::NotFound(_) | Self::NoSuchResource => Reason::NotFound,
            Self::MethodNotSupported { .. } | Self::MethodNotAllowed => Reason::MethodNotAllowed,
            Self::NotAcceptable(_) => Reason::NotAcceptable,
            Self::UnsupportedMediaType(_) => Reason::UnsupportedMediaType,
            Self::AlreadyExists(_) | Self::BeingDeleted(_) | Self::GeneratedNameTaken(_) => {
                Reason::AlreadyExists
            }
            Self::Conflict { .. }
            | Self::Modified(_)
            | Self::PreconditionFailed(_)
            | Self::ApplyConflict(_) => Reason::Conflict,
            Self::Expired(_) | Self::ContinueExpired { .. } => Reason::Expired,
            Self::BodyTooLarge { .. } | Self::TooLarge(_) => Reason::RequestEntityTooLarge,
            Self::Invalid(_) | Self::PatchRejected => Reason::Invalid,
            Self::TooManyRequests { .. } | Self::DisruptionNotAllowed { .. } => {
                Reason::TooManyRequests
            }
            Self::Internal(_) => Reason::InternalError,
            Self::ServiceUnavailable { .. } => Reason::ServiceUnavailable,
            Self::Timeout { .. } | Self::ResourceVersionTooLarge { .. } => Reason::Timeout,
            Self::DeniedByPolicy(denial) => denial.reason,
            Self::ConversionFailed(_) | Self::NotImplemented(_) | Self::DeniedByWebhook(_) => {
                return None;
            }
        })
    }

    /// True if the object or the resource does not exist.
    pub fn is_not_found(&self) -> bool {
        self.reason() == Some(Reason::NotFound)
    }

    /// True if the name of a new object is taken.
    pub fn is_already_exists(&self) -> bool {
        self.reason() == Some(Reason::AlreadyExists)
    }

    /// True if authorization or an admission plugin denies the request.
    pub fn is_forbidden(&self) -> bool {
        self.reason() == Some(Reason::Forbidden)
    }
}

/// `details` of an error. Some errors have empty ones, as upstream.
fn details(error: &ApiError) -> Option<Box<Details>> {
    let details = match error {
        ApiError::BadRequest(_)
        | ApiError::Unauthorized
        | ApiError::NotAcceptable(_)
        | ApiError::UnsupportedMediaType(_)
        | ApiError::Expired(_)
        | ApiError::ContinueExpired { .. }
        | ApiError::BodyTooLarge { .. }
        | ApiError::TooLarge(_)
        | ApiError::ConversionFailed(_)
        | ApiError::NotImplemented(_)
        | ApiError::ServiceUnavailable {
            retry_after_seconds: 0,
            ..
        } => return None,
        ApiError::ForbiddenPath(_)
        | ApiError::NoSuchResource
        | ApiError::MethodNotAllowed
        | ApiError::PatchRejected => Details::default(),
        ApiError::Forbidden { object, .. }
        | ApiError::NotFound(object)
        | ApiError::AlreadyExists(object)
        | ApiError::BeingDeleted(object)
        | ApiError::Conflict { object, .. }
        | ApiError::Modified(object) => object.details(),
        ApiError::PreconditionFailed(failed) => failed.object.details(),
        ApiError::MethodNotSupported { resource, .. } => about(resource, ""),
        ApiError::NamespaceTerminating { object, namespace } => {
            let message = format!("namespace {namespace} is being terminated");
            let cause = cause("NamespaceTerminating", message, "metadata.namespace");
            Details {
                causes: vec![cause],
                ..object.details()
            }
        }
        ApiError::GeneratedNameTaken(object) => Details {
            retry_after_seconds: 1,
            ..object.details()
        },
        ApiError::ApplyConflict(conflict) => caused_by(conflict.causes.clone()),
        ApiError::Invalid(invalid) => invalid.details(),
        ApiError::Internal(why) => caused_by(vec![cause("", why.clone(), "")]),
        ApiError::DisruptionNotAllowed {
            why,
            retry_after_seconds,
        } => Details {
            retry_after_seconds: *retry_after_seconds,
            ..caused_by(vec![cause("DisruptionBudget", why.clone(), "")])
        },
        ApiError::ResourceVersionTooLarge { .. } => {
            let message = "Too large resource version".to_owned();
            Details {
                retry_after_seconds: 1,
                ..caused_by(vec![cause("ResourceVersionTooLarge", message, "")])
            }
        }
        ApiError::TooManyRequests {
            retry_after_seconds,
            ..
        }
        | ApiError::ServiceUnavailable {
            retry_after_seconds,
            ..
        }
        | ApiError::Timeout {
            retry_after_seconds,
            ..
        } => Details {
            retry_after_seconds: *retry_after_seconds,
            ..Details::default()
        },
        ApiError::DeniedByWebhook(denial) => return denial.details.clone(),
        ApiError::DeniedByPolicy(denial) => {
            let messages = denial.causes.iter();
            Details {
                causes: messages.map(|text| cause("", text.clone(), "")).collect(),
                ..denial.object.details()
            }
        }
    };
    Some(Box::new(details))
}

impl ObjectRef {
    fn details(&self) -> Details {
        about(&self.resource, &self.name)
    }
}

impl InvalidObject {
    fn details(&self) -> Details {
        let causes = self.unique().into_iter().map(|(error, _)| {
            let reason = error.error_type.reason();
            cause(reason, error.body(), &error.field)
        });
        let rest = self.rest().map(|rest| cause("", rest, ""));
        Details {
            name: self.name.clone(),
            group: self.kind.group.clone().into(),
            kind: self.kind.kind.clone().into(),
            causes: causes.chain(rest).collect(),
            ..Details::default()
        }
    }
}

fn about(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: resource.group.clone().into(),
        kind: resource.resource.clone().into(),
        ..Details::default()
    }
}

fn caused_by(causes: Vec<Cause>) -> Details {
    Details {
        causes,
        ..Details::default()
    }
}

fn cause(reason: &str, message: String, field: &str) -> Cause {
    Cause {
        reason: reason.to_owned(),
        message,
        field: field.to_owned(),
    }
}
