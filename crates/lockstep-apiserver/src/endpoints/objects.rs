//! Endpoint of the resource API.

use std::any::Any;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http_body::{Body, Frame};
use lockstep_object::ApiError;
use lockstep_object::metadata::Seconds;
use tokio_util::sync::ReusableBoxFuture;

use crate::accounts;
use crate::authz::{self, Attributes, forbidden};
use crate::clock;
use crate::failure::respond;
use crate::metrics::WatchMeters;
use crate::request::{Request, Turn};
use crate::resources::{self, Answer, Origin, Served, SpecialKind, WatchStream};
use crate::response::{self, Response, ResponseBody};
use crate::reviews::Review;
use crate::route::{ResourceRoute, Verb};
use crate::state::Server;
use crate::views::{
    Asked, Encoding, Form, JSON, Shape, as_frames, body_types, mark, mark_as_asked,
};

/// `Content-Type` of a watch in protobuf.
const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";

/// Answers an authorized request in the negotiated representation.
pub(super) async fn answer(server: &Server, request: &mut Request) -> Response {
    let (route, found) = match find(server, request) {
        Ok(found) => found,
        Err(response) => return mark_as_asked(response, request),
    };
    request.notes.resource_is_known();
    let asked = asked(&route, &found);
    match Form::negotiate(&request.headers, &request.query, asked) {
        Ok(form) if !is_written(form, &route, &found) => {
            let refusal = ApiError::not_acceptable(&body_types());
            mark(respond(&refusal), form.encoding)
        }
        Ok(form) => {
            let response = answer_in(form, server, request, &route, found).await;
            mark(response, form.encoding)
        }
        Err(error) => respond(&error),
    }
}

/// Resolves the path to a served resource, or returns the error response.
#[expect(clippy::result_large_err, reason = "it is the answer")]
fn find(server: &Server, request: &Request) -> Result<(ResourceRoute, Served), Response> {
    let Some(route) = request.info.route() else {
        return Err(respond(&ApiError::MethodNotAllowed));
    };
    let path = request.info.resource.as_ref();
    if path.is_some_and(|path| !path.rest.is_empty() && path.subresource != "proxy") {
        return Err(response::page_not_found());
    }
    let registry = server.api.registry();
    if let Some(found) = registry.find(&route) {
        if !is_at_home(&route, &found) {
            return Err(response::page_not_found());
        }
        return Ok((route, found));
    }
    let mut known = registry.iter().filter(|resource| {
        *resource.group == *route.group && resource.served_version(&route.version).is_some()
    });
    Err(if known.any(|resource| resource.origin != Origin::Custom) {
        respond(&ApiError::NoSuchResource)
    } else {
        response::page_not_found()
    })
}

/// True if the scope of the path (namespaced or cluster-wide) matches that of the custom resource.
fn is_at_home(route: &ResourceRoute, found: &Served) -> bool {
    let resource = &found.resource;
    let at_cluster = route.namespace.is_empty();
    let is_of_all = matches!(route.verb, Verb::List | Verb::Watch) && route.name.is_empty();
    resource.origin != Origin::Custom
        || resource.is_namespaced() != at_cluster
        || resource.is_namespaced() && is_of_all
}

fn asked(route: &ResourceRoute, served: &Served) -> Asked {
    match route.verb {
        _ if Review::of(served).is_some() => Asked::Document,
        Verb::List | Verb::DeleteCollection => Asked::List,
        Verb::Watch => Asked::Watch,
        Verb::Get | Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => Asked::Object,
    }
}

/// True if the resource has the negotiated encoding: whole custom resources have no protobuf encoding.
fn is_written(form: Form, route: &ResourceRoute, served: &Served) -> bool {
    let is_of_server = served.resource.origin == Origin::BuiltIn || route.subresource == "scale";
    form.encoding != Encoding::Protobuf || form.shape != Shape::Whole || is_of_server
}

async fn answer_in(
    form: Form,
    server: &Server,
    request: &mut Request,
    route: &ResourceRoute,
    found: Served,
) -> Response {
    let body = match request.body.read().await {
        Ok(body) => body,
        Err(error) => return respond(&error.into()),
    };
    if let Some(warning) = &found.resource.versions[found.version].deprecation {
        request.notes.warn(warning.to_string());
        let meters = server.api.meters();
        meters.deprecated(&found, &route.subresource);
    }
    let watched = (route.verb == Verb::Watch).then(|| server.api.meters().watch(&found));
    let content_type = request.headers.get(CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok());
    let now = Seconds::from_unix(clock::now().wall.as_second());
    let agent = request.headers.get(USER_AGENT);
    let permits = |verb: Verb| {
        let attributes = Attributes {
            user: &request.user,
            verb: verb.as_str(),
            target: authz::target(&request.info),
        };
        let decision = (server.authorizer)(&attributes);
        if decision.allowed {
            return Ok(());
        }
        Err(forbidden(&attributes, &decision))
    };
    let asked = resources::Request {
        user: &request.user,
        agent: agent
            .and_then(|agent| agent.to_str().ok())
            .unwrap_or_default(),
        permits: &permits,
        route,
        served: found,
        query: &request.query,
        content_type: content_type.unwrap_or_default(),
        body,
        shape: form.shape,
        now: now.expect("clocks show a time that can be written"),
        notes: &request.notes,
    };
    let accounts = server.authentication.accounts.as_ref();
    let answer = match (Review::of(&asked.served), accounts) {
        (Some(review), _) => Box::pin(review.answer(server, &request.user, &asked)).await,
        (None, Some(accounts)) if asks_token(&asked) => {
            Box::pin(accounts::create(server, accounts, &asked)).await
        }
        (None, _) => server.api.answer(&asked).await,
    };
    match answer {
        Ok(answer) => print(answer, request, form.encoding, watched),
        Err(error) => respond(&error),
    }
}

/// True for a `TokenRequest` of a service account.
fn asks_token(request: &resources::Request<'_>) -> bool {
    let resource = &request.served.resource;
    let is_account = resource.special == SpecialKind::ServiceAccount;
    is_account && request.route.subresource == "token" && request.route.verb == Verb::Create
}

fn print(
    answer: Answer,
    request: &mut Request,
    encoding: Encoding,
    meters: Option<WatchMeters>,
) -> Response {
    let code = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match answer.body {
        resources::Body::Whole(bytes) => response::bytes(code, JSON, bytes),
        resources::Body::Watch(stream) => {
            let turn = request.turn.take().filter(|_| stream.is_beginning());
            let seat = turn.and_then(Turn::for_initial_events);
            let events = Box::pin(Events {
                next: ReusableBoxFuture::new(step(stream)),
                encoding,
                meters,
                seat,
            });
            let body = ResponseBody::stream(events, request.stop.clone());
            let media_type = match encoding {
                Encoding::Protobuf => PROTOBUF_STREAM,
                _ => JSON,
            };
            let mut response = response::bytes(code, media_type, Bytes::new());
            *response.body_mut() = body;
            response
        }
    }
}

/// Response body that streams a watch.
struct Events {
    next: ReusableBoxFuture<'static, (Box<WatchStream>, Option<Bytes>)>,
    encoding: Encoding,
    meters: Option<WatchMeters>,
    /// Held until the initial events are sent.
    seat: Option<Box<dyn Any + Send>>,
}

async fn step(mut stream: Box<WatchStream>) -> (Box<WatchStream>, Option<Bytes>) {
    let bytes = stream.next().await;
    (stream, bytes)
}

impl Body for Events {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        match self.next.poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready((_, None)) => Poll::Ready(None),
            Poll::Ready((stream, Some(bytes))) => {
                if !stream.is_beginning() {
                    self.seat = None;
                }
                self.next.set(step(stream));
                if let Some(meters) = &self.meters {
                    meters.sent(&bytes);
                }
                let bytes = match self.encoding {
                    Encoding::Protobuf => as_frames(&bytes).into(),
                    _ => bytes,
                };
                Poll::Ready(Some(Ok(Frame::data(bytes))))
            }
        }
    }
}
