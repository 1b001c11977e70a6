//! Lists.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_object::ApiError;
use lockstep_storage::{Consistency, KeyRange, Range, ReadError, ReadFailure, Revision};

use super::conversion::converted_all;
use super::list_options::{At, ListOptions, catch_up_failed};
use super::print::Printer;
use super::selection::Selection;
use super::token::Token;
use super::{Answer, Api, Request, Resource};
use crate::cache::{Listing, Object, Snapshot};
use crate::clock;
use crate::whole::Whole;
use lockstep_write::CALL_OBJECTS_MAX;
use lockstep_write::read_failed;

/// One page of a list.
pub(super) struct Page {
    /// Revision of the list.
    pub(super) revision: Revision,
    pub(super) objects: Vec<Arc<Object>>,
    /// `continue` token; none on the last page.
    pub(super) next: Option<Token>,
    /// `remainingItemCount`, if known.
    pub(super) remaining: Option<usize>,
}

/// Snapshot that a list reads, with the options and selectors of the request.
struct State {
    options: ListOptions,
    selection: Selection,
    snapshot: Arc<Snapshot>,
    revision: Revision,
}

impl Api {
    /// Answers a list request: a complete list or one page.
    pub(super) async fn list(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let state = self.state(request).await?;
        let printer = Printer::of(request);
        if let Some(listing) = state.whole(request) {
            let State {
                selection,
                snapshot,
                ..
            } = &state;
            let objects = || snapshot.objects(&selection.scope, None);
            let items = snapshot.encoded(listing, || printer.items(objects))?;
            let head = printer.list_head(&Page::whole(state.revision));
            return Ok(Answer::ok(Whole::of_two(head, items)));
        }
        let page = self.page_of(request, state).await?;
        Ok(Answer::ok(printer.list(&page)?))
    }

    /// Objects of a list request.
    pub(super) async fn page(&self, request: &Request<'_>) -> Result<Page, ApiError> {
        let state = self.state(request).await?;
        self.page_of(request, state).await
    }

    async fn state(&self, request: &Request<'_>) -> Result<State, ApiError> {
        let options = ListOptions::of(request)?;
        let selection = Selection::of(request)?;
        let resource = &request.served.resource;
        let bucket = self.cache.bucket(&resource.bucket);
        let seen = self.reach(&options.at).await?;
        let token = options.token();
        let at = match &options.at {
            At::After(token) => token.revision(),
            At::Exactly(revision) => Some(*revision),
            At::Newest | At::Any | At::NotOlderThan(_) => None,
        };
        let snapshot = match at {
            None => bucket.snapshot(),
            // The cache may still have the state, but how long would be different on each server.
            Some(at) if at < self.cache.compacted() => return Err(expired(token)),
            Some(at) => match bucket.snapshot_at(at, seen) {
                Some(snapshot) => snapshot,
                None => Arc::new(self.read_at(resource, at, token).await?),
            },
        };
        let revision = at.unwrap_or_else(|| seen.max(snapshot.revision()));
        Ok(State {
            options,
            selection,
            snapshot,
            revision,
        })
    }

    async fn page_of(&self, request: &Request<'_>, state: State) -> Result<Page, ApiError> {
        let State {
            options,
            selection,
            snapshot,
            revision,
        } = state;
        let token = options.token();
        let page = if request.served.has_webhook() && selection.looks_inside() {
            let found = converted_matches(request, &snapshot, &selection, &options, token).await?;
            cut(
                &snapshot,
                found.iter(),
                &selection,
                &options,
                token,
                revision,
            )
        } else {
            let after = after(token);
            let found = snapshot.objects(&selection.scope, after.as_ref());
            let found = found.filter(|object| selection.matches(object));
            let mut page = cut(&snapshot, found, &selection, &options, token, revision);
            page.objects = converted_all(&request.served, page.objects).await?;
            page
        };
        if page.next.is_some() {
            let bucket = self.cache.bucket(&request.served.resource.bucket);
            bucket.pin(revision, &snapshot);
        }
        Ok(page)
    }

    /// Waits until the cache has reached the requested revision, and returns the revision of the cache.
    async fn reach(&self, at: &At) -> Result<Revision, ApiError> {
        let reached = match at {
            At::Newest => self.cache.caught_up().await,
            At::Any => Ok(self.cache.seen()),
            At::NotOlderThan(revision) | At::Exactly(revision) => {
                self.cache.at_least(*revision).await
            }
            At::After(token) => match token.revision() {
                Some(revision) => self.cache.at_least(revision).await,
                None => self.cache.caught_up().await,
            },
        };
        reached.map_err(|error| catch_up_failed(&error))
    }

    /// Reads a past revision from the store, because the cache no longer holds it.
    async fn read_at(
        &self,
        resource: &Resource,
        at: Revision,
        token: Option<&Token>,
    ) -> Result<Snapshot, ApiError> {
        let prefix = resource.store_key(&self.prefix, "");
        let range = Range {
            at: Some(at),
            ..Range::new(KeyRange::prefix(prefix.clone()))
        };
        let began = clock::now().steady;
        let found = self.store.range(range, Consistency::Serializable).await;
        let took = clock::now().steady - began;
        self.meters.store("list", resource, took);
        match found {
            Ok(found) => Ok(Snapshot::of(found.kvs, prefix.len(), at)),
            Err(ReadFailure::Refused(ReadError::Compacted { .. })) => Err(expired(token)),
            Err(failure) => Err(read_failed(&failure)),
        }
    }
}

impl State {
    /// Key of the shared encoded list; none unless the request is for all objects of a scope, unconverted and unpaged.
    fn whole(&self, request: &Request<'_>) -> Option<Listing> {
        let is_all = self.options.limit == 0 && self.options.token().is_none();
        if !is_all || self.selection.has_selectors() || request.served.has_webhook() {
            return None;
        }
        Some(Listing {
            scope: self.selection.scope.clone(),
            form: request.shape.cache_key(&request.served)?,
        })
    }
}

impl Page {
    /// Metadata of a list with a single page.
    pub(super) fn whole(revision: Revision) -> Self {
        Self {
            revision,
            objects: Vec::new(),
            next: None,
            remaining: None,
        }
    }
}

/// 410 with a `continue` token that resumes at the current revision.
fn expired(token: Option<&Token>) -> ApiError {
    match token {
        Some(token) => {
            let going_on = Token::new(None, token.after().as_bytes(), token.seen());
            ApiError::ContinueExpired {
                continue_token: going_on.to_text(),
            }
        }
        None => {
            ApiError::Expired("The resourceVersion for the provided list is too old.".to_owned())
        }
    }
}

/// Objects of a page and one more, converted to the requested version because selectors apply to that version.
async fn converted_matches(
    request: &Request<'_>,
    snapshot: &Snapshot,
    selection: &Selection,
    options: &ListOptions,
    token: Option<&Token>,
) -> Result<Vec<Arc<Object>>, ApiError> {
    let after = after(token);
    let candidates = snapshot.objects(&selection.scope, after.as_ref());
    let candidates: Vec<Arc<Object>> = candidates.cloned().collect();
    let mut found = Vec::new();
    for batch in candidates.chunks(CALL_OBJECTS_MAX) {
        let shown = converted_all(&request.served, batch.to_vec()).await?;
        found.extend(shown.into_iter().filter(|object| selection.matches(object)));
        if options.limit > 0 && found.len() > options.limit {
            break;
        }
    }
    Ok(found)
}

/// Key after which a page begins.
fn after(token: Option<&Token>) -> Option<Bytes> {
    token.map(|token| Bytes::copy_from_slice(token.after().as_bytes()))
}

fn cut<'o>(
    snapshot: &Snapshot,
    found: impl Iterator<Item = &'o Arc<Object>>,
    selection: &Selection,
    options: &ListOptions,
    token: Option<&Token>,
    revision: Revision,
) -> Page {
    let seen = token.map_or(0, Token::seen);
    let mut objects = Vec::new();
    let mut next = None;
    for object in found {
        if options.limit > 0 && objects.len() == options.limit {
            let last: &Arc<Object> = objects.last().expect("a limit is at least one");
            next = Some(Token::new(Some(revision), &last.key, seen + objects.len()));
            break;
        }
        objects.push(object.clone());
    }
    let count = || snapshot.count(&selection.scope);
    let remaining = (next.is_some() && !selection.has_selectors())
        .then(|| count().saturating_sub(seen + objects.len()));
    Page {
        revision,
        objects,
        next,
        remaining,
    }
}
