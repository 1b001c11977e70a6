//! Options of lists and watches: `resourceVersion`, `resourceVersionMatch`, `limit` and `continue`.

use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{ApiError, GroupKind};
use lockstep_storage::Revision;

use super::Request;
use super::token::Token;
use crate::Query;
use crate::cache::CatchUpError;

/// Upstream's text for `resourceVersionMatch` combined with `continue`.
const MATCH_OF_A_PAGE: &str = "resourceVersionMatch is forbidden when continue is provided";

/// Revision that a list reads, by `resourceVersion` and `resourceVersionMatch`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// Linearizable: includes every write acknowledged before the request.
    Newest,
    /// Any revision; the cache answers without waiting.
    Any,
    /// This revision or a newer one.
    NotOlderThan(Revision),
    /// Exactly this revision.
    Exactly(Revision),
    /// Next page after this `continue` token.
    After(Token),
}

/// Parsed options of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ListOptions {
    pub(super) at: At,
    /// Page size; 0 for all objects.
    pub(super) limit: usize,
}

impl ListOptions {
    /// `continue` token of the request.
    pub(super) fn token(&self) -> Option<&Token> {
        match &self.at {
            At::After(token) => Some(token),
            At::Newest | At::Any | At::NotOlderThan(_) | At::Exactly(_) => None,
        }
    }

    pub(super) fn of(request: &Request<'_>) -> Result<Self, ApiError> {
        let limit = request.number("limit")?.unwrap_or_default();
        let limit = usize::try_from(limit).unwrap_or_default();
        request.number("timeoutSeconds")?;
        check(request.query)?;
        let revision = request
            .revision()
            .map_err(|error| ApiError::bad_request(format!("invalid resource version: {error}")))?;
        let query = &request.query;
        if let Some(token) = query.get("continue").filter(|token| !token.is_empty()) {
            let at = At::After(Token::parse(token)?);
            if revision.is_some_and(|revision| revision > Revision::NONE) {
                return Err(ApiError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            return Ok(Self { at, limit });
        }
        let matching = query.get("resourceVersionMatch").unwrap_or_default();
        let at = match (matching, revision) {
            (_, None) => At::Newest,
            (_, Some(Revision::NONE)) => At::Any,
            ("Exact", Some(revision)) => At::Exactly(revision),
            ("", Some(revision)) if limit > 0 => At::Exactly(revision),
            (_, Some(revision)) => At::NotOlderThan(revision),
        };
        Ok(Self { at, limit })
    }
}

/// Rejects combinations of list options that upstream forbids, with all errors in one 422.
fn check(query: &Query) -> Result<(), ApiError> {
    let text = |name: &str| query.get(name).unwrap_or_default();
    let (version, matching) = (text("resourceVersion"), text("resourceVersionMatch"));
    let begins = query.get("sendInitialEvents").is_some();
    let is_matching = !matching.is_empty();
    if !is_matching && !begins {
        return Ok(());
    }
    let (path, begin) = (
        Path::ROOT.field("resourceVersionMatch"),
        Path::ROOT.field("sendInitialEvents"),
    );
    let forbidden = |detail: &str| FieldError::forbidden(&path, detail);
    refuse([
        (
            is_matching && version.is_empty(),
            forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ),
        (
            is_matching && !text("continue").is_empty(),
            forbidden(MATCH_OF_A_PAGE),
        ),
        (
            !matches!(matching, "" | "Exact" | "NotOlderThan"),
            FieldError::not_supported(&path, matching, ["Exact", "NotOlderThan", ""]),
        ),
        (
            (matching, version) == ("Exact", "0"),
            forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""),
        ),
        (
            begins,
            FieldError::forbidden(&begin, "sendInitialEvents is forbidden for list"),
        ),
    ])
}

/// Rejects combinations of watch options that upstream forbids.
pub(super) fn check_watch(query: &Query, watch_list: bool) -> Result<(), ApiError> {
    let matching = query.get("resourceVersionMatch").unwrap_or_default();
    let begins = query.get("sendInitialEvents").is_some();
    let is_matching = !matching.is_empty();
    if !is_matching && !begins {
        return Ok(());
    }
    let (path, begin) = (
        Path::ROOT.field("resourceVersionMatch"),
        Path::ROOT.field("sendInitialEvents"),
    );
    let forbidden = |detail: &str| FieldError::forbidden(&path, detail);
    refuse([
        (
            begins && matching != "NotOlderThan",
            forbidden("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ),
        (
            begins && !watch_list,
            FieldError::forbidden(
                &begin,
                "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled",
            ),
        ),
        (
            is_matching && !begins,
            forbidden(
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            ),
        ),
        (
            !matches!(matching, "" | "NotOlderThan"),
            FieldError::not_supported(&path, matching, ["NotOlderThan"]),
        ),
        (
            is_matching && query.get("continue").is_some_and(|token| !token.is_empty()),
            forbidden(MATCH_OF_A_PAGE),
        ),
    ])
}

/// 422 with the errors whose condition is true.
fn refuse<const N: usize>(rows: [(bool, FieldError); N]) -> Result<(), ApiError> {
    let so = rows.into_iter().filter(|(is_so, _)| *is_so);
    let errors: FieldErrors = so.map(|(_, error)| error).collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(invalid(errors))
}

/// 422 for `ListOptions`.
fn invalid(errors: FieldErrors) -> ApiError {
    ApiError::invalid(&GroupKind::new("meta.k8s.io", "ListOptions"), "", errors)
}

/// Error for a cache that did not reach the requested revision in time.
pub(super) fn catch_up_failed(error: &CatchUpError) -> ApiError {
    match error {
        CatchUpError::Behind { wanted, current } => ApiError::ResourceVersionTooLarge {
            requested: wanted.0,
            current: current.0,
        },
        CatchUpError::Store(failure) => lockstep_write::read_failed(failure),
    }
}
