//! What happens around every request, whatever it asks for.
//!
//! Audit id, deadline, authentication, impersonation, a place among the requests in flight,
//! authorization, the handler; and on the way back: what was not read of the body, headers, access
//! log, metrics. A step that refuses makes the answer; the steps around it still happen.

mod access_log;
mod audit_id;
mod deadline;
mod inflight;
mod notes;
mod own;
mod panics;
mod record;
mod warnings;

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, WARNING,
};
use http::{HeaderName, Method, Version};
use hyper::body::Incoming;

pub(crate) use inflight::InFlight;
pub use notes::Notes;
pub(crate) use own::record as record_own;

use crate::audit::Trail;
use crate::authn::{ClientChain, Impersonation, User};
use crate::authz::{Attributes, Target, Verdict, forbidden};
use crate::clock::{self, Moment};
use crate::endpoints;
use crate::failure::{Refusal, respond};
use crate::limits::BODY_DRAIN_MAX;
use crate::metrics::user_label;
use crate::request::{Query, Request, RequestBody, RequestInfo};
use crate::response::{Response, ResponseBody};
use crate::server::Server;
use crate::views;

/// Where a request comes from.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    pub(crate) chain: ClientChain,
}

/// Answers one request. There is always an answer.
pub(crate) async fn answer(
    server: &Arc<Server>,
    connection: &Connection,
    incoming: http::Request<Incoming>,
) -> Response {
    let received = clock::now();
    let version = incoming.version();
    let mut request = open(server, connection, incoming);
    let mut trail = None;
    let outcome = handle(server, connection, &mut request, &mut trail, received).await;
    let (mut response, refusal) = match outcome {
        Ok(response) => (response, None),
        Err(refusal) => {
            let response = respond(&refusal.status());
            (views::mark_as_asked(response, &request), Some(refusal))
        }
    };
    let drained = tokio::time::timeout(BODY_DRAIN_MAX, request.body.drain()).await;
    if drained != Ok(true) && version < Version::HTTP_2 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    close(&request, &mut response);
    if let Some(Refusal::Panicked) = refusal {
        let (audit_id, path) = (request.notes.audit_id(), &request.info.path);
        tracing::error!(audit_id, path, "a handler panicked");
    }
    if let Some(trail) = trail {
        match refusal {
            Some(Refusal::Unauthenticated(_)) => trail.refused(&mut request, &response),
            Some(Refusal::Panicked) => trail.panicked(&mut request, &response),
            _ => trail.answered(&mut request, &mut response),
        }
    }
    views::finish(&server.rewriters, &request, &mut response).await;
    record::count(server, &request, &mut response, received);
    access_log::record(&request, &response, received);
    if request.method == Method::HEAD {
        drop_body(&mut response);
    }
    response
}

/// What `GET` would have been answered, up to the body.
fn drop_body(response: &mut Response) {
    if let Some(body) = response.body().whole() {
        let length = HeaderValue::from(body.len());
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
    *response.body_mut() = ResponseBody::Whole(Bytes::new().into());
}

fn open(server: &Server, connection: &Connection, incoming: http::Request<Incoming>) -> Request {
    let (parts, body) = incoming.into_parts();
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let info = RequestInfo::new(&parts.method, parts.uri.path(), &query);
    Request {
        notes: Arc::new(Notes::new(audit_id::choose(&parts.headers))),
        body: RequestBody::new(body, &parts.headers),
        method: parts.method,
        uri: parts.uri,
        headers: parts.headers,
        query,
        info,
        user: User::anonymous(),
        peer: connection.peer,
        stop: server.drain.closing.clone(),
    }
}

/// Runs the steps under a deadline, and survives a panic in them.
async fn handle(
    server: &Arc<Server>,
    connection: &Connection,
    request: &mut Request,
    trail: &mut Option<Trail>,
    received: Moment,
) -> Result<Response, Refusal> {
    let deadline = deadline::of(request, server.limits.request_timeout)?;
    let steps = Box::pin(steps(server, connection, request, trail, received));
    let steps = panics::caught(steps);
    let outcome = match deadline {
        None => steps.await,
        Some(duration) => {
            let outcome = tokio::time::timeout_at(received.steady + duration, steps).await;
            outcome.unwrap_or(Ok(Err(Refusal::Late)))
        }
    };
    outcome.unwrap_or(Err(Refusal::Panicked))
}

async fn steps(
    server: &Arc<Server>,
    connection: &Connection,
    request: &mut Request,
    trail: &mut Option<Trail>,
    received: Moment,
) -> Result<Response, Refusal> {
    if is_ambiguous(request) {
        return Err(Refusal::Ambiguous);
    }
    let authenticated = authenticate(server, connection, request, received).await;
    *trail = Trail::begin(server, request, received.wall);
    authenticated?;
    if let Some(trail) = trail {
        trail.received();
    }
    impersonate(server, request).await?;
    let _turn = server
        .in_flight
        .enter(request)
        .await
        .ok_or(Refusal::TooBusy)?;
    let _counted = in_flight(server, request);
    authorize(server, request).await?;
    Ok(endpoints::route(server, request).await)
}

/// Two lengths are how requests are smuggled past proxies.
fn is_ambiguous(request: &Request) -> bool {
    let headers = &request.headers;
    headers.contains_key(TRANSFER_ENCODING) && headers.contains_key(CONTENT_LENGTH)
}

fn in_flight(server: &Server, request: &Request) -> record::Counted {
    let kind = if request.info.is_read_only() {
        "readOnly"
    } else {
        "mutating"
    };
    record::Counted::in_gauge(server.metrics.in_flight.with_label_values(&[kind]))
}

async fn authenticate(
    server: &Server,
    connection: &Connection,
    request: &mut Request,
    received: Moment,
) -> Result<(), Refusal> {
    let user = server.authentication.authenticate(
        &*server.api,
        &connection.chain,
        &request.headers,
        received.wall,
    );
    let user = user.await;
    request.headers.remove(http::header::AUTHORIZATION);
    let result = if user.is_ok() { "success" } else { "error" };
    let metrics = &server.metrics;
    metrics.authentications.with_label_values(&[result]).inc();
    request.user = user.map_err(Refusal::Unauthenticated)?;
    let label = user_label(&request.user.name);
    metrics.user_requests.with_label_values(&[label]).inc();
    Ok(())
}

async fn impersonate(server: &Server, request: &mut Request) -> Result<(), Refusal> {
    let asked = Impersonation::take(&mut request.headers).map_err(Refusal::Impersonation)?;
    let Some(asked) = asked else {
        return Ok(());
    };
    for target in asked.targets() {
        let attributes = Attributes {
            user: &request.user,
            verb: "impersonate",
            target: target.into(),
        };
        judged(&attributes, &ask(server, &attributes).await)?;
    }
    let requester = std::mem::replace(&mut request.user, Arc::new(asked.user()));
    request.notes.set_requester(requester);
    Ok(())
}

async fn authorize(server: &Server, request: &Request) -> Result<(), Refusal> {
    let attributes = Attributes {
        user: &request.user,
        verb: &request.info.verb,
        target: Target::of(&request.info),
    };
    let verdict = ask(server, &attributes).await;
    if server.audit.is_some() {
        let decision = if verdict.allowed { "allow" } else { "forbid" };
        let notes = &request.notes;
        notes.annotate("authorization.k8s.io/decision", decision);
        notes.annotate("authorization.k8s.io/reason", &verdict.reason);
    }
    judged(&attributes, &verdict)
}

/// Asks the rules. A no that was said before they were read counts for nothing.
async fn ask(server: &Server, attributes: &Attributes<'_>) -> Verdict {
    let mut verdict = (server.authorizer)(attributes);
    if !verdict.allowed && !server.rules.is_settled() {
        server.rules.settled().await;
        verdict = (server.authorizer)(attributes);
    }
    let result = if verdict.allowed {
        "allowed"
    } else {
        "no-opinion"
    };
    let attempts = &server.metrics.authorizations;
    attempts.with_label_values(&[result]).inc();
    verdict
}

fn judged(attributes: &Attributes<'_>, verdict: &Verdict) -> Result<(), Refusal> {
    if verdict.allowed {
        Ok(())
    } else {
        Err(Refusal::Forbidden(forbidden(attributes, verdict)))
    }
}

/// The headers that every answer has.
fn close(request: &Request, response: &mut Response) {
    let audit_id = HeaderValue::from_str(request.notes.audit_id());
    let headers = response.headers_mut();
    if let Ok(mut audit_id) = audit_id {
        // No second answer has it: HTTP/2 need not remember it for the next one.
        audit_id.set_sensitive(true);
        headers.insert(HeaderName::from_static("audit-id"), audit_id);
    }
    if !headers.contains_key(CACHE_CONTROL) {
        let private = HeaderValue::from_static("no-cache, private");
        headers.insert(CACHE_CONTROL, private);
    }
    for warning in warnings::headers(&request.notes.warnings()) {
        headers.append(WARNING, warning);
    }
}

/// The beginning of a text, cut between two characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
