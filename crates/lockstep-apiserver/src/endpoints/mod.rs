//! Endpoints outside the resource API: health, version, metrics, flags and status. All paths are rows of one table,
//! which `/` and `/statusz` print.

mod catalogue;
mod health;
mod object_metrics;
mod objects;
mod openapi;
mod zpages;

use http::header::CACHE_CONTROL;
use http::{HeaderValue, Method, StatusCode};
use lockstep_gates::{COMPONENT_FLAGZ, COMPONENT_STATUSZ};
use lockstep_object::ApiError;
use serde_json::json;

use crate::failure::respond;
use crate::fairness::Dump;
use crate::metrics;
use crate::request::Request;
use crate::response::{self, Response};
use crate::state::Server;
use crate::version;

/// Endpoints of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Endpoint {
    Index,
    Health(health::Kind),
    Version,
    Issuer,
    Keys,
    Page(zpages::Page),
    Features,
    Fairness(Dump),
    Metrics,
    OpenApiV2,
    OpenApiV3,
}

/// `Cache-Control` of the OIDC discovery documents of service accounts.
const PUBLIC: &str = "public, max-age=3600";

/// Path prefixes that a [`Handler`] answers.
const HANDLED: [&str; 3] = ["/api", "/apis", "/openapi"];

/// A path, and whether it includes the paths below it.
struct Row {
    path: &'static str,
    below: bool,
    endpoint: Endpoint,
}

const ROWS: &[Row] = &[
    row("/", Endpoint::Index),
    row("/.well-known/openid-configuration", Endpoint::Issuer),
    row(
        "/debug/api_priority_and_fairness/dump_priority_levels",
        Endpoint::Fairness(Dump::Levels),
    ),
    row(
        "/debug/api_priority_and_fairness/dump_queues",
        Endpoint::Fairness(Dump::Queues),
    ),
    row("/debug/features", Endpoint::Features),
    row("/flagz", Endpoint::Page(zpages::Page::Flagz)),
    row_and_below("/healthz", Endpoint::Health(health::Kind::Healthz)),
    row_and_below("/livez", Endpoint::Health(health::Kind::Livez)),
    row("/metrics", Endpoint::Metrics),
    row("/openapi/v2", Endpoint::OpenApiV2),
    row_and_below("/openapi/v3", Endpoint::OpenApiV3),
    row("/openid/v1/jwks", Endpoint::Keys),
    row_and_below("/readyz", Endpoint::Health(health::Kind::Readyz)),
    row("/statusz", Endpoint::Page(zpages::Page::Statusz)),
    row("/version", Endpoint::Version),
];

const fn row(path: &'static str, endpoint: Endpoint) -> Row {
    Row {
        path,
        below: false,
        endpoint,
    }
}

const fn row_and_below(path: &'static str, endpoint: Endpoint) -> Row {
    Row {
        path,
        below: true,
        endpoint,
    }
}

/// Routes an authorized request.
pub(crate) async fn route(server: &Server, request: &mut Request) -> Response {
    if !is_known_method(&request.method) {
        return respond(&ApiError::MethodNotAllowed);
    }
    if let Some(handler) = &server.handler
        && HANDLED
            .iter()
            .any(|prefix| is_below(&request.info.path, prefix))
    {
        return handler(request).await;
    }
    if request.info.resource.is_some() {
        return objects::answer(server, request).await;
    }
    if let Some(answer) = catalogue::answer(server, request) {
        return answer;
    }
    let path = request.info.path.as_str();
    let row = ROWS
        .iter()
        .find(|row| path == row.path || row.below && is_below(path, row.path));
    let Some(row) = row.filter(|row| row.endpoint.is_on(server)) else {
        return response::page_not_found();
    };
    if request.method != Method::GET && request.method != Method::HEAD {
        return respond(&ApiError::MethodNotAllowed);
    }
    let below = path
        .get(row.path.len() + 1..)
        .filter(|_| row.below)
        .unwrap_or_default();
    match row.endpoint {
        Endpoint::Index => index(server),
        Endpoint::Page(page) => zpages::answer(server, request, page),
        Endpoint::Features => features(server),
        Endpoint::Fairness(dump) => match server.turns.fairness() {
            Some(fairness) => {
                response::text(StatusCode::OK, fairness.dump(dump, server.api.cache()))
            }
            None => response::page_not_found(),
        },
        Endpoint::Metrics => {
            let mut computed = Box::pin(object_metrics::families(&server.api)).await;
            if let Some(fairness) = server.turns.fairness() {
                computed.extend(fairness.families(server.api.cache()));
            }
            let started = server.started.wall;
            let text = server.metrics.text(&server.gates, started, computed);
            response::bytes(StatusCode::OK, metrics::TEXT_FORMAT, text)
        }
        Endpoint::Health(kind) => Box::pin(health::answer(server, request, kind, below)).await,
        Endpoint::OpenApiV2 => Box::pin(openapi::v2(server, request)).await,
        Endpoint::OpenApiV3 => Box::pin(openapi::v3(server, request, below)).await,
        Endpoint::Issuer => issuer(server),
        Endpoint::Keys => keys(server),
        Endpoint::Version => pretty(&version::document(&server.gates)),
    }
}

/// OIDC discovery document of the service account issuer.
fn issuer(server: &Server) -> Response {
    let accounts = server.authentication.accounts.as_ref();
    match accounts.and_then(|accounts| accounts.discovery(&server.address())) {
        Some(document) => public("application/json", document.to_string()),
        None => response::page_not_found(),
    }
}

/// JSON Web Key Set for service account tokens.
fn keys(server: &Server) -> Response {
    match &server.authentication.accounts {
        Some(accounts) => public("application/jwk-set+json", accounts.key_set().to_string()),
        None => response::page_not_found(),
    }
}

/// Response that public caches may store.
fn public(media_type: &'static str, text: String) -> Response {
    let mut response = response::bytes(StatusCode::OK, media_type, text);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(PUBLIC));
    response
}

/// True if a path is `prefix` or below it.
fn is_below(path: &str, prefix: &str) -> bool {
    let rest = path.strip_prefix(prefix);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// True for the methods of the API; `OPTIONS`, `TRACE` and unknown methods are rejected.
fn is_known_method(method: &Method) -> bool {
    [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
    ]
    .contains(method)
}

/// Paths of the table, as `/statusz` lists them.
fn paths(server: &Server) -> impl Iterator<Item = &'static str> {
    let on = ROWS.iter().filter(|row| row.endpoint.is_on(server));
    on.map(|row| row.path).filter(|path| *path != "/")
}

fn index(server: &Server) -> Response {
    let mut paths: Vec<String> = paths(server).map(str::to_owned).collect();
    paths.extend(catalogue::paths(server));
    paths.extend(health::paths());
    paths.sort();
    pretty(&json!({ "paths": paths }))
}

/// Feature gates of the running server, in the format of `lockstep features list -o json`.
fn features(server: &Server) -> Response {
    let mut rows = lockstep_featuregate::listing::rows(&server.gates);
    rows.extend(crate::expressions::rows(&server.gates));
    pretty(&json!({ "apiVersion": "cli.lockstep.dev/v1", "kind": "FeatureList", "items": rows }))
}

impl Endpoint {
    /// True unless a feature gate disables the endpoint.
    fn is_on(self, server: &Server) -> bool {
        match self {
            Endpoint::Page(zpages::Page::Flagz) => server.gates.enabled(COMPONENT_FLAGZ),
            Endpoint::Page(zpages::Page::Statusz) => server.gates.enabled(COMPONENT_STATUSZ),
            Endpoint::Fairness(_) => server.turns.fairness().is_some(),
            _ => true,
        }
    }
}

/// JSON with two-space indentation, as upstream's human-readable endpoints.
fn pretty(document: &serde_json::Value) -> Response {
    response::bytes(StatusCode::OK, "application/json", format!("{document:#}"))
}
