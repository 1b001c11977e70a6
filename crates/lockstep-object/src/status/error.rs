//! `ApiError`: the reason for which an API request fails, as data.

use std::collections::BTreeSet;

use crate::field::{FieldError, FieldErrors};
use crate::go::quote;
use crate::kinds::{GroupKind, GroupResource};

use super::{Cause, Details, Reason};

/// Failure of an API request. The text of an error is the `message` of its `Status`.
///
/// Each variant holds the facts of one failure; `map.rs` alone knows the code, reason and causes on the wire.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ApiError {
    /// 400: the request is malformed.
    #[error("{0}")]
    BadRequest(String),
    /// 401: the request is not authenticated.
    #[error("Unauthorized")]
    Unauthorized,
    /// 403: the user, or an admission plugin, does not allow an action on a resource.
    #[error("{} is forbidden: {why}", resource_and_name(object))]
    Forbidden {
        /// The object; without a name for a list or a create.
        object: Box<ObjectRef>,
        /// Reason of the denial.
        why: Box<str>,
    },
    /// 403: the user may not access a non-resource path.
    #[error("forbidden: {0}")]
    ForbiddenPath(String),
    /// 403: nothing is created in a namespace that is being deleted.
    #[error(
        "{} is forbidden: unable to create new content in namespace {namespace} because it is being terminated",
        resource_and_name(object)
    )]
    NamespaceTerminating {
        /// The object to be created.
        object: Box<ObjectRef>,
        /// The namespace.
        namespace: Box<str>,
    },
    /// 404: the object does not exist.
    #[error("{0} not found")]
    NotFound(Box<ObjectRef>),
    /// 404: the resource is not served.
    #[error("the server could not find the requested resource")]
    NoSuchResource,
    /// 405: the resource does not have the verb.
    #[error("{verb} is not supported on resources of kind {}", quote(&resource.to_string()))]
    MethodNotSupported {
        /// The resource.
        resource: Box<GroupResource>,
        /// The verb.
        verb: Box<str>,
    },
    /// 405: the path does not have the HTTP method.
    #[error("the server does not allow this method on the requested resource")]
    MethodNotAllowed,
    /// 406: no media type in `Accept` can be served. Holds those that can.
    #[error("only the following media types are accepted: {}", .0.join(", "))]
    NotAcceptable(Vec<String>),
    /// 415: the media type of the body is unknown. Holds the known ones.
    #[error(
        "the body of the request was in an unknown format - accepted media types include: {}",
        .0.join(", ")
    )]
    UnsupportedMediaType(Vec<String>),
    /// 409: the name of a new object is taken.
    #[error("{0} already exists")]
    AlreadyExists(Box<ObjectRef>),
    /// 409: the name of a new object is taken by an object that is being deleted.
    #[error("object is being deleted: {0} already exists")]
    BeingDeleted(Box<ObjectRef>),
    /// 409: every generated name was taken.
    #[error("{0} already exists, the server was not able to generate a unique name for the object")]
    GeneratedNameTaken(Box<ObjectRef>),
    /// 409: the state of the object does not allow the request.
    #[error("Operation cannot be fulfilled on {object}: {why}")]
    Conflict {
        /// The object.
        object: Box<ObjectRef>,
        /// Reason of the conflict.
        why: Box<str>,
    },
    /// 409: the object has changed since the client read it.
    #[error(
        "Operation cannot be fulfilled on {0}: the object has been modified; please apply your changes to the latest version and try again"
    )]
    Modified(Box<ObjectRef>),
    /// 409: the uid or resourceVersion that the request requires is not the object's.
    #[error(transparent)]
    PreconditionFailed(Box<PreconditionFailed>),
    /// 409: other managers own applied fields.
    #[error("{}", .0.message)]
    ApplyConflict(Box<ApplyConflict>),
    /// 410: the requested resourceVersion was compacted.
    #[error("{0}")]
    Expired(String),
    /// 410: the resourceVersion of a continue token was compacted.
    #[error(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list \
         without the continue parameter, or use the continue token in this response to retrieve the remainder of the \
         results. Continuing with the provided token results in an inconsistent list - objects that were created, \
         modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )]
    ContinueExpired {
        /// Token that resumes the list at the current revision.
        continue_token: String,
    },
    /// 413: the body is larger than this many bytes.
    #[error("Request entity too large: limit is {bytes_max}")]
    BodyTooLarge {
        /// The limit.
        bytes_max: u64,
    },
    /// 413: a part of the request, or the object it makes, is too large.
    #[error("Request entity too large: {0}")]
    TooLarge(String),
    /// 422: validation failed.
    #[error(transparent)]
    Invalid(Box<InvalidObject>),
    /// 422: a patch could not be applied.
    #[error("the server rejected our request due to an error in our request")]
    PatchRejected,
    /// 429: the server is busy.
    #[error("{message}")]
    TooManyRequests {
        /// Explanation.
        message: String,
        /// Seconds until a retry makes sense.
        retry_after_seconds: u32,
    },
    /// 429: a `PodDisruptionBudget` does not allow an eviction.
    #[error("Cannot evict pod as it would violate the pod's disruption budget.")]
    DisruptionNotAllowed {
        /// State of the budget.
        why: String,
        /// Seconds until a retry makes sense; 0 if unspecified.
        retry_after_seconds: u32,
    },
    /// 500: the server is at fault.
    #[error("Internal error occurred: {0}")]
    Internal(String),
    /// 500 without a reason, as upstream answers failed conversions.
    #[error("{0}")]
    ConversionFailed(String),
    /// 501: this server does not implement the subresource.
    #[error("{0}")]
    NotImplemented(String),
    /// 503: the server cannot answer now.
    #[error("{message}")]
    ServiceUnavailable {
        /// Explanation.
        message: String,
        /// Seconds until a retry makes sense; 0 if unspecified.
        retry_after_seconds: u32,
    },
    /// 504: the request did not finish in time.
    #[error("Timeout: {why}")]
    Timeout {
        /// Explanation.
        why: String,
        /// Seconds until a retry makes sense; 0 if unspecified.
        retry_after_seconds: u32,
    },
    /// 504: the requested resourceVersion is ahead of this server.
    #[error("Timeout: Too large resource version: {requested}, current: {current}")]
    ResourceVersionTooLarge {
        /// The requested resourceVersion.
        requested: u64,
        /// The newest one of this server.
        current: u64,
    },
    /// An admission webhook denied the request, with a code of its choice.
    #[error("{}", .0.message)]
    DeniedByWebhook(Box<WebhookDenial>),
    /// An admission policy denied the request.
    #[error("{}", .0.message)]
    DeniedByPolicy(Box<PolicyDenial>),
}

// An error is a part of nearly every `Result` of the write path.
const _: () = assert!(size_of::<ApiError>() <= 32);

/// Object that an error is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectRef {
    /// The resource.
    pub resource: GroupResource,
    /// The name.
    pub name: String,
}

/// Expectation of a request that the stored object does not meet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "Operation cannot be fulfilled on {object}: Precondition failed: {field} in precondition: {expected}, {field} in object meta: {found}"
)]
pub struct PreconditionFailed {
    /// The object.
    pub object: ObjectRef,
    /// `UID` or `ResourceVersion`.
    pub field: &'static str,
    /// Value in the request.
    pub expected: String,
    /// Value in the stored object.
    pub found: String,
}

/// Fields of an apply configuration that other managers own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyConflict {
    /// Explanation that lists managers and fields.
    pub message: String,
    /// One cause for each field.
    pub causes: Vec<Cause>,
}

/// Object that failed validation, with all its field errors.
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidObject {
    /// The kind of the object.
    pub kind: GroupKind,
    /// The name of the object.
    pub name: String,
    /// The field errors; equal ones are shown once.
    pub errors: FieldErrors,
}

/// Denial by admission policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyDenial {
    /// The object of the request.
    pub object: ObjectRef,
    /// Message of the first policy that denied.
    pub message: String,
    /// Reason of the first policy that denied.
    pub reason: Reason,
    /// HTTP status code.
    pub code: u16,
    /// Messages of all policies that denied, in order.
    pub causes: Vec<String>,
}

/// `Status` of a denial by an admission webhook, as far as it is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookDenial {
    /// Message with the name of the webhook.
    pub message: String,
    /// Reason in the webhook's own words; empty if there is none.
    pub reason: String,
    /// HTTP status code.
    pub code: u16,
    /// The object of the denial, and its causes.
    pub details: Option<Box<Details>>,
}

impl ApiError {
    /// [`ApiError::BadRequest`].
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest(message.into())
    }

    /// [`ApiError::Forbidden`].
    pub fn forbidden(resource: &GroupResource, name: &str, why: impl Into<Box<str>>) -> Self {
        let object = ObjectRef::boxed(resource, name);
        let why = why.into();
        Self::Forbidden { object, why }
    }

    /// [`ApiError::NamespaceTerminating`].
    pub fn namespace_terminating(resource: &GroupResource, name: &str, namespace: &str) -> Self {
        Self::NamespaceTerminating {
            object: ObjectRef::boxed(resource, name),
            namespace: namespace.into(),
        }
    }

    /// [`ApiError::NotFound`].
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Self::NotFound(ObjectRef::boxed(resource, name))
    }

    /// [`ApiError::MethodNotSupported`].
    pub fn method_not_supported(resource: &GroupResource, verb: &str) -> Self {
        Self::MethodNotSupported {
            resource: Box::new(resource.clone()),
            verb: verb.into(),
        }
    }

    /// [`ApiError::NotAcceptable`].
    pub fn not_acceptable(media_types: &[&str]) -> Self {
        Self::NotAcceptable(media_types.iter().copied().map(str::to_owned).collect())
    }

    /// [`ApiError::UnsupportedMediaType`].
    pub fn unsupported_media_type(media_types: &[&str]) -> Self {
        Self::UnsupportedMediaType(media_types.iter().copied().map(str::to_owned).collect())
    }

    /// [`ApiError::AlreadyExists`].
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Self::AlreadyExists(ObjectRef::boxed(resource, name))
    }

    /// [`ApiError::BeingDeleted`].
    pub fn being_deleted(resource: &GroupResource, name: &str) -> Self {
        Self::BeingDeleted(ObjectRef::boxed(resource, name))
    }

    /// [`ApiError::GeneratedNameTaken`].
    pub fn generated_name_taken(resource: &GroupResource, name: &str) -> Self {
        Self::GeneratedNameTaken(ObjectRef::boxed(resource, name))
    }

    /// [`ApiError::Conflict`].
    pub fn conflict(resource: &GroupResource, name: &str, why: impl Into<Box<str>>) -> Self {
        let object = ObjectRef::boxed(resource, name);
        let why = why.into();
        Self::Conflict { object, why }
    }

    /// [`ApiError::Modified`].
    pub fn modified(resource: &GroupResource, name: &str) -> Self {
        Self::Modified(ObjectRef::boxed(resource, name))
    }

    /// [`ApiError::PreconditionFailed`].
    pub fn precondition_failed(
        resource: &GroupResource,
        name: &str,
        field: &'static str,
        expected: &str,
        found: &str,
    ) -> Self {
        Self::PreconditionFailed(Box::new(PreconditionFailed {
            object: ObjectRef::new(resource, name),
            field,
            expected: expected.to_owned(),
            found: found.to_owned(),
        }))
    }

    /// [`ApiError::ApplyConflict`].
    pub fn apply_conflict(message: String, causes: Vec<Cause>) -> Self {
        Self::ApplyConflict(Box::new(ApplyConflict { message, causes }))
    }

    /// [`ApiError::TooLarge`].
    pub fn too_large(why: impl Into<String>) -> Self {
        Self::TooLarge(why.into())
    }

    /// [`ApiError::Invalid`].
    pub fn invalid(kind: &GroupKind, name: &str, errors: impl Into<FieldErrors>) -> Self {
        Self::Invalid(Box::new(InvalidObject {
            kind: kind.clone(),
            name: name.to_owned(),
            errors: errors.into(),
        }))
    }

    /// [`ApiError::TooManyRequests`].
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::TooManyRequests {
            message: message.into(),
            retry_after_seconds,
        }
    }

    /// [`ApiError::Internal`].
    pub fn internal(why: impl Into<String>) -> Self {
        Self::Internal(why.into())
    }

    /// [`ApiError::ServiceUnavailable`].
    pub fn service_unavailable(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::ServiceUnavailable {
            message: message.into(),
            retry_after_seconds,
        }
    }

    /// [`ApiError::Timeout`].
    pub fn timeout(why: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::Timeout {
            why: why.into(),
            retry_after_seconds,
        }
    }
}

impl ObjectRef {
    fn new(resource: &GroupResource, name: &str) -> Self {
        Self {
            resource: resource.clone(),
            name: name.to_owned(),
        }
    }

    fn boxed(resource: &GroupResource, name: &str) -> Box<Self> {
        Box::new(Self::new(resource, name))
    }
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.resource, quote(&self.name))
    }
}

/// The resource, followed by the quoted name if there is one.
fn resource_and_name(object: &ObjectRef) -> String {
    match object.name.as_str() {
        "" => object.resource.to_string(),
        _ => object.to_string(),
    }
}

impl InvalidObject {
    /// The kept field errors without repetitions.
    pub(super) fn unique(&self) -> Vec<(&FieldError, String)> {
        let mut listed = BTreeSet::new();
        let texts = self.errors.iter().map(|error| (error, error.to_string()));
        texts
            .filter(|(_, text)| listed.insert(text.clone()))
            .collect()
    }

    /// The last entry of a list of errors that is not whole.
    pub(super) fn rest(&self) -> Option<String> {
        match self.errors.more() {
            0 => None,
            1 => Some("1 more error".to_owned()),
            more => Some(format!("{more} more errors")),
        }
    }
}

impl std::error::Error for InvalidObject {}

impl std::fmt::Display for InvalidObject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} is invalid", self.kind, quote(&self.name))?;
        let listed = self.unique().into_iter().map(|(_, text)| text);
        let listed: Vec<String> = listed.chain(self.rest()).collect();
        match &listed[..] {
            [] => Ok(()),
            [one] => write!(f, ": {one}"),
            many => write!(f, ": [{}]", many.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::field::{FIELD_ERRORS_MAX, Path};

    fn invalid(errors: FieldErrors) -> Status {
        let kind = GroupKind::new("", "Service");
        Status::from(&ApiError::invalid(&kind, "s", errors))
    }

    #[test]
    fn the_first_errors_of_an_object_are_listed_and_the_rest_is_counted() {
        const FOUND: usize = 150_000;
        let path = Path::ROOT.field("ports");
        let one = |index| FieldError::required(&path.index(index), "");
        let status = invalid((0..FOUND).map(one).collect());
        let texts = (0..FIELD_ERRORS_MAX).map(|index| format!("ports[{index}]: Required value"));
        let rest = format!("{} more errors", FOUND - FIELD_ERRORS_MAX);
        let texts: Vec<String> = texts.chain([rest.clone()]).collect();
        let message = format!("Service \"s\" is invalid: [{}]", texts.join(", "));
        assert_eq!(status.message, message);
        let causes = status
            .details
            .expect("an invalid object has details")
            .causes;
        assert_eq!(causes.len(), FIELD_ERRORS_MAX + 1);
        let closing = Cause {
            message: rest,
            ..Cause::default()
        };
        assert_eq!(causes.last(), Some(&closing));
    }

    #[test]
    fn an_error_shows_no_more_of_what_a_client_sent_than_its_limits() {
        let long = "x".repeat(3 << 20);
        let path = Path::ROOT.key(&long);
        let error = FieldError::not_supported(&path, long.as_str(), [long.as_str(); 3]);
        let status = invalid([error].into());
        assert!(status.message.len() < 16 << 10, "{}", status.message.len());
    }

    #[test]
    fn a_message_that_repeats_a_body_is_cut() {
        let status = Status::from(&ApiError::bad_request("x".repeat(3 << 20)));
        assert!(status.message.len() < 256 << 10, "{}", status.message.len());
    }
}
