//! Input of the handlers: a request after authentication, authorization and routing.

use std::num::{IntErrorKind, ParseIntError};

use bytes::Bytes;
use lockstep_authz::User;
use lockstep_object::ApiError;
use lockstep_object::field::FieldError;
use lockstep_object::metadata::Seconds;
use lockstep_object::selector::{FieldSelector, LabelSelector};
use lockstep_storage::Revision;

use super::{Origin, Served, Subresource};
use crate::request::{Notes, Query};
use crate::route::ResourceRoute;
use crate::views::Shape;
use lockstep_write::{self as write, Permits};

/// One request for a resource, authenticated and authorised.
pub struct Request<'a> {
    /// Verb, resource, namespace, name and subresource from the path.
    pub route: &'a ResourceRoute,
    /// Requested resource and version.
    pub served: Served,
    /// Query parameters.
    pub query: &'a Query,
    /// `Content-Type`, empty if there is none.
    pub content_type: &'a str,
    /// The body.
    pub body: Bytes,
    /// Requested representation: whole objects, metadata only, or a Table.
    pub shape: Shape,
    /// Time of receipt.
    pub now: Seconds,
    /// Effective user, after impersonation.
    pub user: &'a User,
    /// `User-Agent`, empty if there is none.
    pub agent: &'a str,
    /// Authorizes further actions that the request implies.
    pub permits: &'a Permits<'a>,
    /// Collects warnings and audit annotations.
    pub notes: &'a Notes,
}

impl Request<'_> {
    /// Parses an integer query parameter.
    pub fn number(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let Some(text) = self.query.get(name) else {
            return Ok(None);
        };
        let number = text.parse().map_err(|error: ParseIntError| {
            let problem = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            ApiError::bad_request(format!("strconv.ParseInt: parsing {text:?}: {problem}"))
        })?;
        Ok(Some(number))
    }

    /// Parses `resourceVersion`; none if it is absent or empty.
    pub fn revision(&self) -> Result<Option<Revision>, ApiError> {
        let Some(text) = self.query.get("resourceVersion") else {
            return Ok(None);
        };
        match text {
            "" => Ok(None),
            text => match text.parse() {
                Ok(number) => Ok(Some(Revision(number))),
                Err(_) => Err(ApiError::bad_request(format!(
                    "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))),
            },
        }
    }

    /// Parses `labelSelector`.
    pub fn labels(&self) -> Result<LabelSelector, ApiError> {
        let text = self.query.get("labelSelector").unwrap_or_default();
        let parsed = text.parse::<LabelSelector>();
        parsed.map_err(|error| ApiError::bad_request(error.to_string()))
    }

    /// Parses `fieldSelector` and rejects fields that the resource does not support.
    pub fn fields(&self) -> Result<FieldSelector, ApiError> {
        let text = self.query.get("fieldSelector").unwrap_or_default();
        let selector: FieldSelector = text
            .parse()
            .map_err(|error| ApiError::bad_request(format!("{error}")))?;
        let resource = &self.served.resource;
        let known = resource.strategy.selectable_fields(self.served.version);
        for requirement in selector.requirements() {
            let field = &*requirement.field;
            let is_known = matches!(field, "metadata.name" | "metadata.namespace")
                || known.iter().any(|known| *known.name == *field);
            if !is_known {
                return Err(ApiError::bad_request(match resource.origin {
                    Origin::BuiltIn if known.is_empty() => format!(
                        "{field:?} is not a known field selector: only \"metadata.name\", \
                         \"metadata.namespace\""
                    ),
                    _ => format!("field label not supported: {field}"),
                }));
            }
        }
        Ok(selector)
    }

    /// 422 for invalid request options.
    pub(super) fn invalid_options(&self, error: FieldError) -> ApiError {
        write::invalid_options(self.route.verb, error)
    }

    /// Subresource named by the path.
    pub(super) fn subresource(&self) -> Result<Option<Subresource>, ApiError> {
        write::subresource(self.route, &self.served)
    }
}
