//! Which state a list shows.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{GroupKind, Status};
use lockstep_storage::Revision;

use super::Request;
use super::token::Token;
use crate::cache::CatchUpError;

/// Which state a list shows: the table of `resourceVersion` and `resourceVersionMatch`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// Every write that was acknowledged before.
    Newest,
    /// Whatever is at hand.
    Any,
    /// This revision or a newer one.
    NotOlderThan(Revision),
    /// Exactly this revision.
    Exactly(Revision),
    /// The page after this token.
    After(Token),
}

/// What a list is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ListOptions {
    pub(super) at: At,
    /// The most objects of a page; 0 for all.
    pub(super) limit: usize,
}

impl ListOptions {
    /// Where the list goes on, if it does.
    pub(super) fn token(&self) -> Option<&Token> {
        match &self.at {
            At::After(token) => Some(token),
            At::Newest | At::Any | At::NotOlderThan(_) | At::Exactly(_) => None,
        }
    }

    pub(super) fn of(request: &Request<'_>) -> Result<Self, Status> {
        let limit = request.number("limit")?.unwrap_or_default();
        let limit = usize::try_from(limit).unwrap_or_default();
        request.number("timeoutSeconds")?;
        let revision = request.revision().map_err(|status| {
            Status::bad_request(format!("invalid resource version: {}", status.message))
        })?;
        let query = &request.query;
        let (matching, token) = (query.get("resourceVersionMatch"), query.get("continue"));
        let matching = matching.unwrap_or_default();
        if query.flag("sendInitialEvents") || query.get("sendInitialEvents").is_some() {
            let path = Path::ROOT.field("sendInitialEvents");
            let error = FieldError::forbidden(&path, "sendInitialEvents is forbidden for list");
            return Err(invalid(&[error]));
        }
        if let Some(token) = token.filter(|token| !token.is_empty()) {
            let at = At::After(Token::parse(token)?);
            if revision.is_some_and(|revision| revision > Revision::NONE) {
                return Err(Status::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Ok(Self { at, limit });
        }
        let at = match (matching, revision) {
            ("", None) => At::Newest,
            ("" | "NotOlderThan", Some(Revision::NONE)) => At::Any,
            ("", Some(revision)) if limit > 0 => At::Exactly(revision),
            ("" | "NotOlderThan", Some(revision)) => At::NotOlderThan(revision),
            ("Exact", Some(revision)) if revision > Revision::NONE => At::Exactly(revision),
            (matching, revision) => return Err(bad_match(matching, revision)),
        };
        Ok(Self { at, limit })
    }
}

fn bad_match(matching: &str, revision: Option<Revision>) -> Status {
    let path = Path::ROOT.field("resourceVersionMatch");
    let error = match (matching, revision) {
        ("Exact", Some(_)) => FieldError::forbidden(
            &path,
            "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
        ),
        ("Exact" | "NotOlderThan", None) => FieldError::forbidden(
            &path,
            "resourceVersionMatch is forbidden unless resourceVersion is provided",
        ),
        (other, _) => FieldError::not_supported(&path, other, ["Exact", "NotOlderThan", ""]),
    };
    invalid(&[error])
}

/// 422 for the options of a list.
pub(super) fn invalid(errors: &[FieldError]) -> Status {
    Status::invalid(&GroupKind::new("meta.k8s.io", "ListOptions"), "", errors)
}

/// What a client is told when the cache did not get where it has to be.
pub(super) fn catch_up_failed(error: &CatchUpError) -> Status {
    match error {
        CatchUpError::Behind { wanted, current } => {
            Status::resource_version_too_large(wanted.0, current.0)
        }
        CatchUpError::Store(failure) => super::commit::read_failed(failure),
    }
}
