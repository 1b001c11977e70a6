//! What a handler is given.

use std::num::{IntErrorKind, ParseIntError};

use bytes::Bytes;
use lockstep_authz::User;
use lockstep_object::Status;
use lockstep_object::field::FieldError;
use lockstep_object::metadata::Seconds;
use lockstep_object::selector::{FieldSelector, LabelSelector};
use lockstep_storage::Revision;

use super::{Origin, Served, Subresource};
use crate::authn::User as Caller;
use crate::frame::Notes;
use crate::request::Query;
use crate::route::ResourceRoute;
use crate::views::Shape;
use crate::write::{self, Permits};

/// One request for a resource, authenticated and authorised.
pub struct Request<'a> {
    /// What it asks for.
    pub route: &'a ResourceRoute,
    /// The resource and version.
    pub served: Served,
    /// The query.
    pub query: &'a Query,
    /// `Content-Type`, empty if there is none.
    pub content_type: &'a str,
    /// The body.
    pub body: Bytes,
    /// What is shown of objects.
    pub shape: Shape,
    /// When it came in.
    pub now: Seconds,
    /// On whose behalf it is done.
    pub user: &'a User,
    /// The same with everything that is known about them.
    pub caller: &'a Caller,
    /// `User-Agent`, empty if there is none.
    pub agent: &'a str,
    /// Refuses what the user may not do besides.
    pub permits: &'a Permits<'a>,
    /// Where warnings for the client go.
    pub notes: &'a Notes,
}

impl Request<'_> {
    /// A whole number from the query.
    pub fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(text) = self.query.get(name) else {
            return Ok(None);
        };
        let number = text.parse().map_err(|error: ParseIntError| {
            let problem = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {text:?}: {problem}"))
        })?;
        Ok(Some(number))
    }

    /// `resourceVersion`: none if it is absent or empty.
    pub fn revision(&self) -> Result<Option<Revision>, Status> {
        let Some(text) = self.query.get("resourceVersion") else {
            return Ok(None);
        };
        match text {
            "" => Ok(None),
            text => match text.parse() {
                Ok(number) => Ok(Some(Revision(number))),
                Err(_) => Err(Status::bad_request(format!(
                    "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: invalid syntax"
                ))),
            },
        }
    }

    /// `labelSelector`.
    pub fn labels(&self) -> Result<LabelSelector, Status> {
        let text = self.query.get("labelSelector").unwrap_or_default();
        let parsed = text.parse::<LabelSelector>();
        parsed.map_err(|error| Status::bad_request(error.to_string()))
    }

    /// `fieldSelector`, with no field that the resource does not know.
    pub fn fields(&self) -> Result<FieldSelector, Status> {
        let text = self.query.get("fieldSelector").unwrap_or_default();
        let selector: FieldSelector = text
            .parse()
            .map_err(|error| Status::bad_request(format!("{error}")))?;
        let resource = &self.served.resource;
        let known = resource.strategy.selectable_fields(self.served.version);
        for requirement in selector.requirements() {
            let field = &*requirement.field;
            let is_known = matches!(field, "metadata.name" | "metadata.namespace")
                || known.iter().any(|known| *known.name == *field);
            if !is_known {
                return Err(Status::bad_request(match resource.origin {
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

    /// 422 for the options of the request.
    pub(super) fn invalid_options(&self, error: FieldError) -> Status {
        write::invalid_options(self.route.verb, error)
    }

    /// Subresource named by the path.
    pub(super) fn subresource(&self) -> Result<Option<Subresource>, Status> {
        write::subresource(self.route, &self.served)
    }
}
