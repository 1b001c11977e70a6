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
mod panics;
mod warnings;

use std::net::SocketAddr;
use std::sync::Arc;

use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, HeaderValue, TRANSFER_ENCODING, WARNING,
};
use http::{HeaderName, Version};
use hyper::body::Incoming;

pub use deadline::parse_go_duration;
pub(crate) use inflight::InFlight;
pub use notes::Notes;

use crate::authn::{ClientChain, Impersonation, User};
use crate::authz::{Attributes, Target, forbidden};
use crate::clock::{self, Moment};
use crate::endpoints;
use crate::failure::{Refusal, respond};
use crate::request::{Query, Request, RequestBody, RequestInfo};
use crate::response::Response;
use crate::server::Server;

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
    let mut response = handle(server, connection, &mut request, received).await;
    if !request.body.drain().await && version < Version::HTTP_2 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    close(&request, &mut response);
    access_log::record(&request, &response, received);
    response
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
    received: Moment,
) -> Response {
    let deadline = match deadline::of(request, server.limits.request_timeout) {
        Ok(deadline) => deadline,
        Err(refusal) => return respond(&refusal.status()),
    };
    let steps = panics::caught(steps(server, connection, request, received));
    let outcome = match deadline {
        None => steps.await,
        Some(duration) => {
            let until = received.steady + duration;
            let outcome = tokio::time::timeout_at(until, steps).await;
            outcome.unwrap_or(Ok(Err(Refusal::Late)))
        }
    };
    match outcome {
        Ok(Ok(response)) => response,
        Ok(Err(refusal)) => respond(&refusal.status()),
        Err(panics::Panicked) => {
            tracing::error!(
                audit_id = request.notes.audit_id(),
                path = request.info.path,
                "a handler panicked"
            );
            respond(&Refusal::Panicked.status())
        }
    }
}

async fn steps(
    server: &Arc<Server>,
    connection: &Connection,
    request: &mut Request,
    received: Moment,
) -> Result<Response, Refusal> {
    if request.headers.contains_key(TRANSFER_ENCODING)
        && request.headers.contains_key(CONTENT_LENGTH)
    {
        return Err(Refusal::Ambiguous);
    }
    authenticate(server, connection, request, received)?;
    impersonate(server, request)?;
    let turn = server
        .in_flight
        .enter(request)
        .await
        .ok_or(Refusal::TooBusy)?;
    authorize(server, request)?;
    let response = endpoints::route(server, request).await;
    drop(turn);
    Ok(response)
}

fn authenticate(
    server: &Server,
    connection: &Connection,
    request: &mut Request,
    received: Moment,
) -> Result<(), Refusal> {
    let user =
        server
            .authentication
            .authenticate(&connection.chain, &request.headers, received.wall);
    request.headers.remove(http::header::AUTHORIZATION);
    request.user = user.map_err(Refusal::Unauthenticated)?;
    Ok(())
}

fn impersonate(server: &Server, request: &mut Request) -> Result<(), Refusal> {
    let asked = Impersonation::take(&mut request.headers).map_err(Refusal::Impersonation)?;
    let Some(asked) = asked else {
        return Ok(());
    };
    for target in asked.targets() {
        judge(
            server,
            &Attributes {
                user: &request.user,
                verb: "impersonate",
                target,
            },
        )?;
    }
    let requester = std::mem::replace(&mut request.user, Arc::new(asked.user()));
    request.notes.set_requester(requester);
    Ok(())
}

fn authorize(server: &Server, request: &Request) -> Result<(), Refusal> {
    let reason = judge(
        server,
        &Attributes {
            user: &request.user,
            verb: &request.info.verb,
            target: Target::of(&request.info),
        },
    )?;
    request
        .notes
        .annotate("authorization.k8s.io/decision", "allow");
    request
        .notes
        .annotate("authorization.k8s.io/reason", &reason);
    Ok(())
}

fn judge(server: &Server, attributes: &Attributes<'_>) -> Result<String, Refusal> {
    let verdict = (server.authorizer)(attributes);
    if verdict.allowed {
        Ok(verdict.reason)
    } else {
        Err(Refusal::Forbidden(forbidden(attributes, &verdict)))
    }
}

/// The headers that every answer has.
fn close(request: &Request, response: &mut Response) {
    let audit_id = HeaderValue::from_str(request.notes.audit_id());
    let headers = response.headers_mut();
    if let Ok(audit_id) = audit_id {
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
