//! Denials: errors and violations, each with the policy and binding that it is about.

use lockstep_object::{ApiError, ObjectRef, PolicyDenial, Reason};

use crate::request::Request;

/// Reasons for which policies deny a request, in order.
#[derive(Debug, Default)]
pub(crate) struct Denials {
    all: Vec<(String, Option<Reason>)>,
}

/// HTTP status code of denials by mutating policies, whatever their reason.
const FORBIDDEN: u16 = 403;

impl Denials {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Adds an error of a policy, with the binding if it is about one.
    pub(crate) fn add(
        &mut self,
        (policy, binding): (&str, Option<&str>),
        message: &str,
        reason: Option<Reason>,
    ) {
        let message = match binding {
            Some(binding) => {
                format!("policy '{policy}' with binding '{binding}' denied request: {message}")
            }
            None => format!("policy {policy:?} denied request: {message}"),
        };
        self.all.push((message, reason));
    }

    /// Adds a message as it is.
    pub(crate) fn add_text(&mut self, message: String) {
        self.all.push((message, Some(Reason::Invalid)));
    }

    /// The error for the client: the first message, and all of them as causes.
    pub(crate) fn into_error(self, request: &Request) -> Option<ApiError> {
        let (message, reason) = self.all.first()?.clone();
        Some(ApiError::DeniedByPolicy(Box::new(PolicyDenial {
            object: object_of(request),
            message,
            reason: reason.unwrap_or(Reason::Forbidden),
            code: FORBIDDEN,
            causes: self.all.into_iter().map(|(message, _)| message).collect(),
        })))
    }
}

/// The object of a request, for errors.
pub(crate) fn object_of(request: &Request) -> ObjectRef {
    ObjectRef {
        resource: request.requested.resource.group_resource(),
        name: request.name.clone(),
    }
}
