//! Filter chain around every request.
//!
//! Audit ID, deadline, authentication, impersonation, classification, authorization, receipt of the body, wait for a
//! seat, handler; then the unread body is
//! drained and headers, access log and metrics are written. A step that rejects the request produces the response; the
//! steps around it still run.

mod access_log;
mod audit_id;
mod deadline;
mod mutations;
mod own;
mod panics;
mod record;
mod warnings;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, WARNING,
};
use http::{HeaderName, Method, Version};
use hyper::body::Incoming;
use tokio::time::Instant;

pub(crate) use own::record as record_own;

use self::mutations::MUTATED_BY;
use crate::audit::Trail;
use crate::authn::{ClientChain, Impersonation, User};
use crate::authz::{self, Attributes, Decision, forbidden};
use crate::clock::{self, Moment};
use crate::endpoints;
use crate::failure::{Refusal, respond};
use crate::fairness::is_heavy;
use crate::limits::BODY_DRAIN_MAX;
use crate::metrics::user_label;
use crate::request::{ConnectionBudget, Notes, Query, Request, RequestBody, RequestInfo};
use crate::response::{Response, ResponseBody};
use crate::state::Server;
use crate::views;

/// Names the flow schema of a request.
const FLOW_SCHEMA: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
/// Names the priority level of a request.
const PRIORITY_LEVEL: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// Client address and certificate chain of a connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: SocketAddr,
    pub(crate) chain: ClientChain,
    /// Request bodies that the connection may have under way.
    pub(crate) bodies: ConnectionBudget,
}

/// Answers one request. Every error becomes a response.
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
            let response = respond(&refusal.error());
            (views::mark_as_asked(response, &request), Some(refusal))
        }
    };
    if !request.body.is_received() {
        // A client that sends slowly must not keep its seat.
        request.turn = None;
    }
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
    views::finish(&server.heavy, &request, &mut response).await;
    record::count(server, &request, &mut response, received);
    access_log::record(&request, &response, received);
    if request.method == Method::HEAD {
        drop_body(&mut response);
    }
    response
}

/// Turns the response to `GET` into that to `HEAD`: `Content-Length` stays, the body is dropped.
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
        turn: None,
    }
}

/// Runs the filter chain under the deadline and turns a panic into 500.
async fn handle(
    server: &Arc<Server>,
    connection: &Connection,
    request: &mut Request,
    trail: &mut Option<Trail>,
    received: Moment,
) -> Result<Response, Refusal> {
    let longest = server.limits.request_timeout;
    let deadline = deadline::of(request, longest)?;
    let timeout = deadline.unwrap_or(longest);
    let steps = Box::pin(steps(server, connection, request, trail, received, timeout));
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
    timeout: Duration,
) -> Result<Response, Refusal> {
    if is_ambiguous(request) {
        return Err(Refusal::Ambiguous);
    }
    let authenticated = authenticate(server, connection, request, received).await;
    let log = server.audit.as_ref();
    *trail = log.and_then(|log| Trail::begin(log, request, received.wall));
    authenticated?;
    if let Some(trail) = trail {
        trail.received();
    }
    impersonate(server, request).await?;
    let (api, turns) = (&server.api, &server.turns);
    let class = turns.classify(request, api);
    authorize(server, request).await?;
    receive(server, connection, request, received.steady + timeout).await?;
    let turn = turns.enter(class, request, api, received.steady, timeout);
    request.turn = turn.await?;
    let _counted = in_flight(server, request);
    if is_heavy(request, api) {
        let user = Arc::clone(&request.user);
        let mut answered = Box::pin(endpoints::route(server, request));
        let answered = server.heavy.drive(&user.name, answered.as_mut()).await;
        return answered.ok_or(Refusal::TooBusy);
    }
    Ok(endpoints::route(server, request).await)
}

/// Receives the body of a request before it waits for its seat. Paths outside the resource API have no bodies, and those
/// of long-running requests are streams. Administrators wait for no room, so that they can act while others take it all.
async fn receive(
    server: &Server,
    connection: &Connection,
    request: &mut Request,
    until: Instant,
) -> Result<(), Refusal> {
    if request.info.resource.is_none() || request.info.is_long_running() {
        return Ok(());
    }
    let Some(bytes) = request.body.announced() else {
        return Ok(());
    };
    if request.user.is_master() {
        request.body.receive(None).await;
        return Ok(());
    }
    let user = &request.user.name;
    let reserved = server.bodies.reserve(&connection.bodies, user, bytes);
    let reserved = tokio::time::timeout_at(until, reserved).await;
    let reserved = reserved.ok().flatten().ok_or(Refusal::TooBusy)?;
    request.body.receive(Some(reserved)).await;
    Ok(())
}

/// True if a request has both `Transfer-Encoding` and `Content-Length`, which request smuggling exploits.
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
            target,
        };
        require_allowed(&attributes, &ask(server, &attributes).await)?;
    }
    let requester = std::mem::replace(&mut request.user, Arc::new(asked.user()));
    request.notes.set_requester(requester);
    Ok(())
}

async fn authorize(server: &Server, request: &Request) -> Result<(), Refusal> {
    let attributes = Attributes {
        user: &request.user,
        verb: &request.info.verb,
        target: authz::target(&request.info),
    };
    let decision = ask(server, &attributes).await;
    if server.audit.is_some() {
        let word = if decision.allowed { "allow" } else { "forbid" };
        let notes = &request.notes;
        notes.annotate("authorization.k8s.io/decision", word);
        notes.annotate("authorization.k8s.io/reason", &decision.reason);
    }
    require_allowed(&attributes, &decision)
}

/// Queries the authorizer. A denial that precedes the first load of the RBAC rules is not final, so it is repeated
/// after the load.
async fn ask(server: &Server, attributes: &Attributes<'_>) -> Decision {
    let mut decision = (server.authorizer)(attributes);
    if !decision.allowed && !server.rules.is_settled() {
        server.rules.settled().await;
        decision = (server.authorizer)(attributes);
    }
    let result = if decision.allowed {
        "allowed"
    } else {
        "no-opinion"
    };
    let attempts = &server.metrics.authorizations;
    attempts.with_label_values(&[result]).inc();
    decision
}

fn require_allowed(attributes: &Attributes<'_>, decision: &Decision) -> Result<(), Refusal> {
    if decision.allowed {
        Ok(())
    } else {
        Err(Refusal::Forbidden(forbidden(attributes, decision)))
    }
}

/// Sets the headers of every response.
fn close(request: &Request, response: &mut Response) {
    let audit_id = HeaderValue::from_str(request.notes.audit_id());
    let headers = response.headers_mut();
    if let Ok(mut audit_id) = audit_id {
        // Each response has its own audit ID, so HPACK must not index the header.
        audit_id.set_sensitive(true);
        headers.insert(HeaderName::from_static("audit-id"), audit_id);
    }
    if let Some(flow) = request.notes.flow() {
        headers.insert(FLOW_SCHEMA, flow.schema);
        headers.insert(PRIORITY_LEVEL, flow.level);
    }
    if !headers.contains_key(CACHE_CONTROL) {
        let private = HeaderValue::from_static("no-cache, private");
        headers.insert(CACHE_CONTROL, private);
    }
    for policy in mutations::headers(&request.notes.written().mutations()) {
        headers.append(MUTATED_BY, policy);
    }
    for warning in warnings::headers(&request.notes.warnings()) {
        headers.append(WARNING, warning);
    }
}

/// Longest prefix of at most `bytes_max` bytes that ends between two characters.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
