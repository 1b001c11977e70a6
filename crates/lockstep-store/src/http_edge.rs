//! HTTP endpoints without gRPC: health, version, metrics.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use lockstep_mvcc::{AlarmKind, Content, KeyRange, Range};
use serde_json::json;
use tonic::body::Body;

use crate::level::Level;
use crate::member::Member;
use crate::metrics;

#[derive(Clone)]
pub(crate) struct HttpEdge(pub(crate) Arc<Member>);

/// Checks of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    DataCorruption,
    SerializableRead,
    LinearizableRead,
    NonLearner,
}

/// Checks of each probe, by their names in paths.
const LIVEZ: &[(&str, Check)] = &[("serializable_read", Check::SerializableRead)];
const READYZ: &[(&str, Check)] = &[
    ("data_corruption", Check::DataCorruption),
    ("serializable_read", Check::SerializableRead),
    ("linearizable_read", Check::LinearizableRead),
    ("non_learner", Check::NonLearner),
];

impl HttpEdge {
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Response<Body> {
        let (path, query) = (
            request.uri().path(),
            request.uri().query().unwrap_or_default(),
        );
        let probe = path
            .split_once("z/")
            .map_or((path, ""), |(probe, check)| (&path[..=probe.len()], check));
        match probe {
            ("/health", "") if request.method() == Method::GET => self.health(query),
            ("/livez", check) => self.probe(LIVEZ, check, query),
            ("/readyz", check) => self.probe(READYZ, check, query),
            ("/version", "") => self.version(),
            ("/metrics", "") => {
                let text = metrics::text(&self.0);
                respond(
                    StatusCode::OK,
                    "text/plain; version=0.0.4; charset=utf-8",
                    text,
                )
            }
            _ => Self::not_found(),
        }
    }

    pub(crate) fn not_found() -> Response<Body> {
        let text = "404 page not found\n".to_owned();
        respond(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", text)
    }

    fn version(&self) -> Response<Body> {
        let level = self.0.config.level;
        let mut versions = json!({
            "etcdserver": level.release(),
            "etcdcluster": level.release(),
            "lockstep": env!("CARGO_PKG_VERSION"),
        });
        if level >= Level::V3_6 {
            versions["storage"] = level.release().into();
        }
        respond(StatusCode::OK, "application/json", versions.to_string())
    }

    fn health(&self, query: &str) -> Response<Body> {
        let excluded: Vec<_> = values(query, "exclude").collect();
        let reason = self.0.live().inspect(|machine| {
            let alarms = machine.alarms().map(|alarm| match alarm.kind {
                AlarmKind::NoSpace => "NOSPACE",
                AlarmKind::Corrupt => "CORRUPT",
            });
            let mut counted = alarms.filter(|kind| !excluded.contains(kind));
            counted.next().map(|kind| format!("ALARM {kind}"))
        });
        let reason = reason.or_else(|| self.failed_check(Check::SerializableRead));
        let metrics = &self.0.metrics;
        let (status, health, counter) = match reason {
            None => (StatusCode::OK, "true", &metrics.health_successes),
            Some(_) => (
                StatusCode::SERVICE_UNAVAILABLE,
                "false",
                &metrics.health_failures,
            ),
        };
        counter.add(1);
        let text = json!({ "health": health, "reason": reason.unwrap_or_default() });
        respond(status, "application/json", text.to_string())
    }

    fn probe(&self, checks: &[(&str, Check)], asked: &str, query: &str) -> Response<Body> {
        let excluded: Vec<_> = values(query, "exclude").collect();
        let is_verbose = query
            .split('&')
            .any(|part| part == "verbose" || part.starts_with("verbose="));
        if !asked.is_empty() && !checks.iter().any(|(name, _)| *name == asked) {
            return Self::not_found();
        }
        let mut lines = String::new();
        let mut status = StatusCode::OK;
        for (name, check) in checks {
            if !asked.is_empty() && *name != asked {
                continue;
            }
            if excluded.contains(name) {
                lines += &format!("[+]{name} excluded: ok\n");
                continue;
            }
            match self.failed_check(*check) {
                None => lines += &format!("[+]{name} ok\n"),
                Some(reason) => {
                    status = StatusCode::SERVICE_UNAVAILABLE;
                    lines += &format!("[-]{name} failed: {reason}\n");
                }
            }
        }
        let text = match (status, is_verbose) {
            (StatusCode::OK, false) => "ok\n".to_owned(),
            (StatusCode::OK, true) => format!("{lines}ok\n"),
            _ => format!("{lines}failed\n"),
        };
        respond(status, "text/plain; charset=utf-8", text)
    }

    /// Error of a failed check.
    fn failed_check(&self, check: Check) -> Option<String> {
        match check {
            Check::DataCorruption => self.0.live().inspect(|machine| {
                let mut alarms = machine.alarms();
                let is_corrupt = alarms.any(|alarm| alarm.kind == AlarmKind::Corrupt);
                is_corrupt.then(|| "alarm activated: CORRUPT".to_owned())
            }),
            // With a single member, linearizable and serializable reads are the same.
            Check::SerializableRead | Check::LinearizableRead => {
                let range = Range {
                    content: Content::CountOnly,
                    ..Range::new(KeyRange::all())
                };
                let read = self.0.range(&range).err().map(|error| error.to_string());
                read.or_else(|| self.0.stopping.reason())
            }
            Check::NonLearner => None,
        }
    }
}

/// Values of a repeated query parameter.
fn values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let parts = query.split('&').filter_map(|part| part.split_once('='));
    parts
        .filter(move |(key, _)| *key == name)
        .map(|(_, value)| value)
}

fn respond(status: StatusCode, content_type: &'static str, text: String) -> Response<Body> {
    let mut response = Response::new(Body::new(Full::from(text)));
    *response.status_mut() = status;
    let content_type = header::HeaderValue::from_static(content_type);
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, content_type);
    response
}
