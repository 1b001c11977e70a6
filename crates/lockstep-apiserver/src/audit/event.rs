//! Audit events of one request.

use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderMap;
use jiff::Timestamp;
use lockstep_object::json;
use serde_json::{Map, Value, json};

use super::AuditLog;
use super::policy::{Decision, Level, Stage};
use crate::authn::User;
use crate::clock;
use crate::request::{Request, RequestInfo, ResourcePath};
use crate::response::Response;
use crate::views;

/// `userAgent` of writes by the server itself.
const OWN_AGENT: &str = "lockstep";

/// Audit event of one request, completed as the request proceeds.
pub(crate) struct Trail {
    log: Arc<AuditLog>,
    decision: Decision,
    event: Map<String, Value>,
}

impl Trail {
    /// Applies the audit policy to a request; none if its level is `None`.
    pub(crate) fn begin(
        log: &Arc<AuditLog>,
        request: &mut Request,
        received: Timestamp,
    ) -> Option<Self> {
        let decision = log.audit.policy.decide(&request.user, &request.info);
        if decision.level == Level::None {
            return None;
        }
        if decision.level >= Level::Request {
            request.body.keep_copy();
        }
        Some(Self {
            log: Arc::clone(log),
            event: first_part(request, received, decision.level),
            decision,
        })
    }

    /// Sends the event of stage `RequestReceived`.
    pub(crate) fn received(&self) {
        self.send(Stage::RequestReceived, self.event.clone());
    }

    /// Sends `ResponseComplete`. For a stream, sends `ResponseStarted` now and `ResponseComplete` when the stream ends.
    pub(crate) fn answered(mut self, request: &mut Request, response: &mut Response) {
        self.add_answer(request, response);
        if response.body().whole().is_some() {
            return self.send(Stage::ResponseComplete, self.event.clone());
        }
        self.send(Stage::ResponseStarted, self.event.clone());
        response.body_mut().hold(Open(self));
    }

    /// Sends the event of a request whose authentication failed.
    pub(crate) fn refused(mut self, request: &mut Request, response: &Response) {
        self.add_answer(request, response);
        self.send(Stage::ResponseStarted, self.event.clone());
    }

    /// Sends the event of stage `Panic`.
    pub(crate) fn panicked(mut self, request: &mut Request, response: &Response) {
        self.add_answer(request, response);
        self.send(Stage::Panic, self.event.clone());
    }

    fn add_answer(&mut self, request: &mut Request, response: &Response) {
        let body = response.body().whole();
        let failed = !response.status().is_success();
        let parsed = || body.and_then(|body| json::read(&body.joined()));
        let mut status = json!({ "metadata": {}, "code": response.status().as_u16() });
        if let Some(answer) = failed.then(parsed).flatten() {
            let is_told = self.decision.level >= Level::RequestResponse
                || !shows_content(&answer, request.info.resource.as_ref());
            let message = is_told.then_some("message");
            for key in ["status", "reason"].into_iter().chain(message) {
                if let Some(text) = answer.get(key).filter(|text| text.is_string()) {
                    status[key] = text.clone();
                }
            }
        }
        self.event.insert("responseStatus".to_owned(), status);
        if let Some(requester) = request.notes.requester() {
            self.event.insert("user".to_owned(), user(&requester));
            self.event
                .insert("impersonatedUser".to_owned(), user(&request.user));
        }
        let mut annotations = request.notes.annotations();
        if self.decision.level >= Level::Request {
            annotations.append(&mut request.notes.details());
        }
        if !annotations.is_empty() {
            self.event
                .insert("annotations".to_owned(), json!(annotations));
        }
        let copy = request.body.take_copy();
        let asked = copy.and_then(|bytes| views::read(&request.headers, &bytes));
        self.add_object("requestObject", asked);
        if self.decision.level >= Level::RequestResponse {
            self.add_object("responseObject", parsed());
        }
    }

    fn add_object(&mut self, key: &str, object: Option<Value>) {
        if let Some(mut object) = object {
            if self.decision.omit_managed_fields {
                omit_managed_fields(&mut object);
            }
            self.event.insert(key.to_owned(), object);
        }
    }

    fn send(&self, stage: Stage, mut event: Map<String, Value>) {
        if self.decision.omit_stages.contains(&stage) {
            return;
        }
        event.insert("stage".to_owned(), stage.name().into());
        event.insert("stageTimestamp".to_owned(), micros(clock::now().wall));
        let log = &self.log;
        if log.audit.sink.send(Value::Object(event).to_string()) {
            log.events.inc();
        } else {
            log.errors.with_label_values(&["log"]).inc();
        }
    }
}

/// Sends the event of a write by the server itself, which has no connection and no body.
pub(crate) fn own_write(
    log: &Arc<AuditLog>,
    user: &User,
    info: &RequestInfo,
    path: &str,
    code: u16,
) {
    let decision = log.audit.policy.decide(user, info);
    if decision.level == Level::None {
        return;
    }
    let now = clock::now().wall;
    let event = json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": decision.level.name(),
        "auditID": uuid::Uuid::new_v4().to_string(),
        "requestURI": path,
        "verb": info.verb,
        "user": self::user(user),
        "sourceIPs": ["127.0.0.1"],
        "userAgent": OWN_AGENT,
        "responseStatus": { "metadata": {}, "code": code },
        "requestReceivedTimestamp": micros(now),
    });
    let Value::Object(mut event) = event else {
        unreachable!("a map was just built");
    };
    if let Some(resource) = &info.resource {
        event.insert("objectRef".to_owned(), object_reference(resource));
    }
    let trail = Trail {
        log: Arc::clone(log),
        decision,
        event,
    };
    trail.send(Stage::ResponseComplete, trail.event.clone());
}

/// Sends `ResponseComplete` on drop, when the stream ends.
struct Open(Trail);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.send(Stage::ResponseComplete, self.0.event.clone());
    }
}

fn first_part(request: &Request, received: Timestamp, level: Level) -> Map<String, Value> {
    let agent = request.headers.get(http::header::USER_AGENT);
    let agent = agent
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let target = request
        .uri
        .path_and_query()
        .map_or("", |target| target.as_str());
    let event = json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": level.name(),
        "auditID": request.notes.audit_id(),
        "requestURI": target,
        "verb": request.info.verb,
        "user": user(&request.user),
        "sourceIPs": source_addresses(&request.headers, request.peer),
        "userAgent": agent,
        "requestReceivedTimestamp": micros(received),
    });
    let Value::Object(mut event) = event else {
        unreachable!("a map was just built");
    };
    if let Some(resource) = &request.info.resource {
        event.insert("objectRef".to_owned(), object_reference(resource));
    }
    event
}

/// True if an error response may quote object content: any error about a Secret, and patch errors, which quote the
/// whole patched document.
fn shows_content(answer: &Value, resource: Option<&ResourcePath>) -> bool {
    let is_mistake = [400, 422].iter().any(|code| answer["code"] == *code);
    let causes = answer["details"]["causes"].as_array();
    let mut causes = causes.into_iter().flatten();
    let is_secret =
        resource.is_some_and(|path| (&*path.group, &*path.resource) == lockstep_catalog::SECRETS);
    is_mistake && (is_secret || causes.any(|cause| cause["field"] == "patch"))
}

fn object_reference(path: &ResourcePath) -> Value {
    let fields = [
        ("apiGroup", &path.group),
        ("apiVersion", &path.version),
        ("resource", &path.resource),
        ("subresource", &path.subresource),
        ("namespace", &path.namespace),
        ("name", &path.name),
    ];
    let given = fields.into_iter().filter(|(_, text)| !text.is_empty());
    given
        .map(|(key, text)| (key.to_owned(), text.as_str().into()))
        .collect::<Map<_, _>>()
        .into()
}

fn user(user: &User) -> Value {
    let mut fields = json!({ "username": user.name, "groups": user.groups });
    if !user.uid.is_empty() {
        fields["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        fields["extra"] = json!(user.extra);
    }
    fields
}

/// `sourceIPs`: addresses from forwarding headers, then the peer.
fn source_addresses(headers: &HeaderMap, peer: SocketAddr) -> Vec<String> {
    const FORWARDED_MAX: usize = 16;
    let mut addresses: Vec<std::net::IpAddr> = Vec::new();
    for name in ["x-forwarded-for", "x-real-ip"] {
        let texts = headers
            .get_all(name)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let texts = texts.flat_map(|text| text.split(','));
        addresses.extend(
            texts
                .filter_map(|text| text.trim().parse::<std::net::IpAddr>().ok())
                .take(FORWARDED_MAX),
        );
    }
    addresses.push(peer.ip());
    addresses.dedup();
    addresses.iter().map(ToString::to_string).collect()
}

fn micros(at: Timestamp) -> Value {
    format!("{at:.6}").into()
}

fn omit_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let items = object.get_mut("items").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten() {
        if let Some(metadata) = item.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
}
