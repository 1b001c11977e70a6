//! Constructors of failure statuses: the only place with their codes and messages.

use super::{Cause, Details, Outcome, Reason, Status};
use crate::field::FieldError;
use crate::go::quote;
use crate::kinds::{GroupKind, GroupResource};

impl Status {
    fn failure(reason: Reason, message: String) -> Self {
        Self {
            outcome: Outcome::Failure,
            message,
            reason: Some(reason),
            details: None,
            code: reason.code(),
            continue_token: String::new(),
            foreign_reason: String::new(),
        }
    }

    /// Adds what the failure is about, by resource.
    fn about(mut self, resource: &GroupResource, name: &str) -> Self {
        self.details = Some(Box::new(Details {
            name: name.to_owned(),
            group: resource.group.clone().into(),
            kind: resource.resource.clone().into(),
            ..Details::default()
        }));
        self
    }

    /// Adds a cause.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        let details = self.details.get_or_insert_default();
        details.causes.push(Cause {
            reason: reason.to_owned(),
            message: message.into(),
            field: field.to_owned(),
        });
        self
    }

    /// Sets `retryAfterSeconds`; the server also sends it as a `Retry-After` header.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// The object was removed.
    pub fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Self {
        let details = Details {
            name: name.to_owned(),
            group: resource.group.clone().into(),
            kind: resource.resource.clone().into(),
            uid: uid.to_owned(),
            ..Details::default()
        };
        Self {
            outcome: Outcome::Success,
            message: String::new(),
            reason: None,
            details: Some(Box::new(details)),
            code: 200,
            continue_token: String::new(),
            foreign_reason: String::new(),
        }
    }

    /// The request makes no sense.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(Reason::BadRequest, message.into())
    }

    /// 401: the request is not authenticated.
    pub fn unauthorized() -> Self {
        Self::failure(Reason::Unauthorized, "Unauthorized".to_owned())
    }

    /// 403: the user may not act on a resource.
    pub fn forbidden(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = match name {
            "" => format!("{resource} is forbidden: {why}"),
            name => format!("{resource} {} is forbidden: {why}", quote(name)),
        };
        Self::failure(Reason::Forbidden, message).about(resource, name)
    }

    /// 403: the user may not access a non-resource path.
    pub fn forbidden_path(why: &str) -> Self {
        let mut status = Self::failure(Reason::Forbidden, format!("forbidden: {why}"));
        status.details = Some(Box::default());
        status
    }

    /// The namespace is going away: nothing is created in it.
    pub fn namespace_terminating(resource: &GroupResource, name: &str, namespace: &str) -> Self {
        let why = format!(
            "unable to create new content in namespace {namespace} because it is being terminated"
        );
        let cause = format!("namespace {namespace} is being terminated");
        Self::forbidden(resource, name, &why).with_cause(
            "NamespaceTerminating",
            cause,
            "metadata.namespace",
        )
    }

    /// 404: the object does not exist.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} not found", quote(name));
        Self::failure(Reason::NotFound, message).about(resource, name)
    }

    /// 404: the resource is not served.
    pub fn no_such_resource() -> Self {
        let message = "the server could not find the requested resource".to_owned();
        let mut status = Self::failure(Reason::NotFound, message);
        status.details = Some(Box::default());
        status
    }

    /// The verb does not exist for this resource.
    pub fn method_not_supported(resource: &GroupResource, verb: &str) -> Self {
        let message = format!(
            "{verb} is not supported on resources of kind {}",
            quote(&resource.to_string())
        );
        Self::failure(Reason::MethodNotAllowed, message).about(resource, "")
    }

    /// The HTTP method does not exist for this path.
    pub fn method_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource".to_owned();
        let mut status = Self::failure(Reason::MethodNotAllowed, message);
        status.details = Some(Box::default());
        status
    }

    /// None of the media types in `Accept` can be served.
    pub fn not_acceptable(media_types: &[&str]) -> Self {
        let types = media_types.join(", ");
        let message = format!("only the following media types are accepted: {types}");
        Self::failure(Reason::NotAcceptable, message)
    }

    /// The body's media type is not known.
    pub fn unsupported_media_type(media_types: &[&str]) -> Self {
        let types = media_types.join(", ");
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {types}"
        );
        Self::failure(Reason::UnsupportedMediaType, message)
    }

    /// There is such an object already.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        let message = format!("{resource} {} already exists", quote(name));
        Self::failure(Reason::AlreadyExists, message).about(resource, name)
    }

    /// Every generated name was taken.
    pub fn generated_name_taken(resource: &GroupResource, name: &str) -> Self {
        let message = format!(
            "{resource} {} already exists, the server was not able to generate a unique name for the object",
            quote(name)
        );
        let status = Self::failure(Reason::AlreadyExists, message);
        status.about(resource, name).with_retry_after(1)
    }

    /// The object is not what the request expects.
    pub fn conflict(resource: &GroupResource, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {resource} {}: {why}",
            quote(name)
        );
        Self::failure(Reason::Conflict, message).about(resource, name)
    }

    /// The object has moved on since the client read it.
    pub fn modified(resource: &GroupResource, name: &str) -> Self {
        let why = "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// The uid or resourceVersion that the request insists on is not the object's.
    pub fn precondition_failed(
        resource: &GroupResource,
        name: &str,
        what: &str,
        wanted: &str,
        found: &str,
    ) -> Self {
        let why = format!(
            "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
        );
        Self::conflict(resource, name, &why)
    }

    /// 409: another manager owns applied fields.
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        let mut status = Self::failure(Reason::Conflict, message);
        status.details = Some(Box::new(Details {
            causes,
            ..Details::default()
        }));
        status
    }

    /// 410: the requested resourceVersion was compacted.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::failure(Reason::Expired, message.into())
    }

    /// The body is larger than this many bytes.
    pub fn body_too_large(bytes_max: u64) -> Self {
        Self::too_large(&format!("limit is {bytes_max}"))
    }

    /// Something in the request is larger than it may be.
    pub fn too_large(why: &str) -> Self {
        Self::failure(
            Reason::RequestEntityTooLarge,
            format!("Request entity too large: {why}"),
        )
    }

    /// 422: validation failed. Equal errors are listed once.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &[FieldError]) -> Self {
        let mut unique: Vec<&FieldError> = Vec::with_capacity(errors.len());
        let mut listed: Vec<String> = Vec::with_capacity(errors.len());
        for error in errors {
            let text = error.to_string();
            if !listed.contains(&text) {
                listed.push(text);
                unique.push(error);
            }
        }
        let name_quoted = quote(name);
        let message = match &listed[..] {
            [] => format!("{kind} {name_quoted} is invalid"),
            [one] => format!("{kind} {name_quoted} is invalid: {one}"),
            many => format!("{kind} {name_quoted} is invalid: [{}]", many.join(", ")),
        };
        let causes = unique.into_iter().map(|error| Cause {
            reason: error.error_type.reason().to_owned(),
            message: error.body(),
            field: error.field.clone(),
        });
        let mut status = Self::failure(Reason::Invalid, message);
        status.details = Some(Box::new(Details {
            name: name.to_owned(),
            group: kind.group.clone().into(),
            kind: kind.kind.clone().into(),
            causes: causes.collect(),
            ..Details::default()
        }));
        status
    }

    /// A patch could not be applied.
    pub fn patch_rejected() -> Self {
        let message = "the server rejected our request due to an error in our request".to_owned();
        let mut status = Self::failure(Reason::Invalid, message);
        status.details = Some(Box::default());
        status
    }

    /// The server is busy.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::failure(Reason::TooManyRequests, message.into()).with_retry_after(retry_after_seconds)
    }

    /// Our own fault.
    pub fn internal_error(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self::failure(Reason::InternalError, message).with_cause("", why, "")
    }

    /// The server cannot answer now.
    pub fn service_unavailable(message: impl Into<String>) -> Self {
        Self::failure(Reason::ServiceUnavailable, message.into())
    }

    /// The answer did not come in time.
    pub fn timeout(why: &str, retry_after_seconds: u32) -> Self {
        let status = Self::failure(Reason::Timeout, format!("Timeout: {why}"));
        status.with_retry_after(retry_after_seconds)
    }

    /// The resourceVersion is ahead of this server.
    pub fn resource_version_too_large(wanted: u64, current: u64) -> Self {
        let why = format!("Too large resource version: {wanted}, current: {current}");
        let cause = "Too large resource version";
        Self::timeout(&why, 1).with_cause("ResourceVersionTooLarge", cause, "")
    }
}
