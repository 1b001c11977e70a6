//! Requests of browsers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG,
    HOST, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, LOCATION, ORIGIN, VARY,
};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use lockstep_callout::ResponseBody;
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::assets::{self, Coding};
use crate::guard::{self, Rejected};
use crate::proxy::{Asked, Backend};
use crate::session::Sessions;

/// Maximal time that a browser may take to send the head of a request.
const HEAD_MAX: Duration = Duration::from_secs(10);
/// The largest body that is handed on: a review.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Maximal time that responses under way get at shutdown.
const DRAIN_MAX: Duration = Duration::from_millis(200);
/// Pause after a failed accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Path prefixes of requests that are forwarded to the API server.
const HANDED_ON: [&str; 4] = ["/api/", "/apis/", "/openapi/v3", "/version"];
/// Path prefix of the only objects that may be created: access reviews, which change nothing.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/";
/// Where sessions begin.
const SESSION: &str = "/ui/session";
const POLICY: &str =
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

type Body = BoxBody<Bytes, hyper::Error>;

/// Whose credentials the API server sees.
pub enum Viewer {
    /// Credentials of the user who started the program, for the viewer who presents the invitation.
    Invited {
        /// Good for one session.
        invitation: String,
        /// Makes session tokens, which must not be guessable.
        fresh: fn() -> String,
    },
    /// The bearer token that the viewer sends, if any.
    Own,
}

enum Access {
    Invited {
        sessions: Mutex<Sessions>,
        fresh: fn() -> String,
    },
    Own,
}

/// The dashboard of one API server.
pub struct Dashboard {
    backend: Backend,
    access: Access,
    tasks: TaskTracker,
}

impl Dashboard {
    /// For an API server.
    pub fn new(backend: Backend, viewer: Viewer) -> Self {
        let access = match viewer {
            Viewer::Own => Access::Own,
            Viewer::Invited { invitation, fresh } => Access::Invited {
                sessions: Mutex::new(Sessions::new(&invitation)),
                fresh,
            },
        };
        Self {
            backend,
            access,
            tasks: TaskTracker::new(),
        }
    }

    /// Answers until `shutdown` is done. The listener must be on a loopback address: tokens are sent
    /// in the clear.
    pub async fn run(self, listener: TcpListener, shutdown: impl Future<Output = ()>) {
        let dashboard = Arc::new(self);
        let closing = CancellationToken::new();
        let accepting = accept(Arc::clone(&dashboard), listener, closing.clone());
        tokio::select! {
            () = accepting => {}
            () = shutdown => {}
        }
        closing.cancel();
        dashboard.tasks.close();
        let _in_time = tokio::time::timeout(DRAIN_MAX, dashboard.tasks.wait()).await;
    }

    async fn answer(&self, listener: SocketAddr, request: Request<Incoming>) -> Response<Body> {
        let text = |name: HeaderName| request.headers().get(name)?.to_str().ok();
        let asked = guard::OriginHeaders {
            host: text(HOST),
            origin: text(ORIGIN),
            fetch_site: text(HeaderName::from_static("sec-fetch-site")),
        };
        let mut response = match guard::check(listener, asked) {
            Err(refused) => refusal(refused),
            Ok(()) => self.route(request).await,
        };
        for (name, value) in [
            ("content-security-policy", POLICY),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            let name = HeaderName::from_static(name);
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        response
    }

    async fn route(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        match path {
            "/" | "/ui" => redirect("/ui/"),
            SESSION => self.session(&request),
            _ => match path.strip_prefix("/ui/") {
                Some(file) => asset(file, request.method(), request.headers()),
                None => self.hand_on(request).await,
            },
        }
    }

    /// First request of a page: `GET` answers how viewers sign in, `POST` begins a session.
    fn session(&self, request: &Request<Incoming>) -> Response<Body> {
        match (&self.access, request.method()) {
            (Access::Own, &Method::GET) => document(StatusCode::OK, &json!({ "signIn": "token" })),
            (Access::Invited { .. }, &Method::GET) => {
                document(StatusCode::OK, &json!({ "signIn": "invitation" }))
            }
            (Access::Invited { sessions, fresh }, &Method::POST) => {
                let token = fresh();
                let is_begun = bearer(request.headers())
                    .is_some_and(|brought| sessions.lock().begin(brought, &token));
                if is_begun {
                    document(StatusCode::OK, &json!({ "token": token }))
                } else {
                    failure(
                        StatusCode::UNAUTHORIZED,
                        "the invitation is not good, or was used; start the dashboard again for another",
                    )
                }
            }
            _ => failure(
                StatusCode::METHOD_NOT_ALLOWED,
                "there is nothing of the kind",
            ),
        }
    }

    async fn hand_on(&self, request: Request<Incoming>) -> Response<Body> {
        let path = request.uri().path();
        let is_known = HANDED_ON.iter().any(|prefix| path.starts_with(prefix));
        if !is_known || path.contains("..") {
            return failure(StatusCode::NOT_FOUND, "there is no such page");
        }
        let is_question = request.method() == Method::POST && path.starts_with(REVIEWS);
        if request.method() != Method::GET && !is_question {
            return failure(StatusCode::METHOD_NOT_ALLOWED, "the dashboard only reads");
        }
        let authorization = match &self.access {
            Access::Own => request.headers().get(AUTHORIZATION).cloned(),
            Access::Invited { sessions, .. } => {
                let token = bearer(request.headers());
                if !token.is_some_and(|token| sessions.lock().has(token)) {
                    return failure(StatusCode::UNAUTHORIZED, "there is no such session");
                }
                None
            }
        };
        let (head, body) = request.into_parts();
        let Ok(body) = Limited::new(body, BODY_BYTES_MAX).collect().await else {
            return failure(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
        };
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let asked = Asked {
            path: path.to_owned(),
            accept: head.headers.get(ACCEPT).cloned(),
            content_type: head.headers.get(CONTENT_TYPE).cloned(),
            authorization,
            body: body.to_bytes(),
            method: head.method,
        };
        match self.backend.ask(asked).await {
            Ok(answer) => handed_back(answer),
            Err(error) => {
                tracing::warn!(error, "the API server cannot be reached");
                failure(StatusCode::BAD_GATEWAY, "the API server cannot be reached")
            }
        }
    }
}

async fn accept(dashboard: Arc<Dashboard>, listener: TcpListener, closing: CancellationToken) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let serving = serve(Arc::clone(&dashboard), stream);
        let closing = closing.clone();
        dashboard.tasks.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = closing.cancelled() => {}
            }
        });
    }
}

async fn serve(dashboard: Arc<Dashboard>, stream: TcpStream) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let service = service_fn(|request| {
        let dashboard = Arc::clone(&dashboard);
        async move { Ok::<_, std::convert::Infallible>(dashboard.answer(local, request).await) }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_MAX);
    let serving = builder.serve_connection(TokioIo::new(stream), service);
    if let Err(error) = serving.await {
        tracing::debug!(%error, "a connection of a browser ended");
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers
        .get(AUTHORIZATION)?
        .to_str()
        .ok()?
        .strip_prefix("Bearer ")
}

fn asset(path: &str, method: &Method, headers: &HeaderMap) -> Response<Body> {
    let Some(asset) = assets::at(path) else {
        return failure(StatusCode::NOT_FOUND, "there is no such file");
    };
    if !matches!(*method, Method::GET | Method::HEAD) {
        return failure(StatusCode::METHOD_NOT_ALLOWED, "files are only read");
    }
    let accepted = headers
        .get(ACCEPT_ENCODING)
        .and_then(|value| value.to_str().ok());
    let coding = Coding::of(accepted.unwrap_or_default());
    let etag = asset.etag(coding);
    let known = headers
        .get(IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| known.split(',').any(|tag| tag.trim() == etag));
    let (status, content) = if is_known {
        (StatusCode::NOT_MODIFIED, &b""[..])
    } else {
        (StatusCode::OK, asset.bytes(coding))
    };
    let mut response = full(status, Bytes::from_static(content));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if let Ok(etag) = HeaderValue::from_str(&etag) {
        headers.insert(ETAG, etag);
    }
    if let Some(coding) = coding.name() {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

/// Response of the API server, with the headers that a page needs.
fn handed_back(answer: Response<ResponseBody>) -> Response<Body> {
    let (head, body) = answer.into_parts();
    let mut response = Response::new(body.boxed());
    *response.status_mut() = head.status;
    for name in [
        CONTENT_TYPE,
        HeaderName::from_static("warning"),
        HeaderName::from_static("retry-after"),
    ] {
        for value in head.headers.get_all(&name) {
            response.headers_mut().append(name.clone(), value.clone());
        }
    }
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn redirect(to: &'static str) -> Response<Body> {
    let mut response = full(StatusCode::PERMANENT_REDIRECT, Bytes::new());
    response
        .headers_mut()
        .insert(LOCATION, HeaderValue::from_static(to));
    response
}

fn refusal(refused: Rejected) -> Response<Body> {
    let why = match refused {
        Rejected::Host => {
            "the dashboard is not called by this name; open the address that was printed"
        }
        Rejected::Origin => "another page may not ask this one",
    };
    failure(StatusCode::FORBIDDEN, why)
}

fn failure(status: StatusCode, message: &str) -> Response<Body> {
    document(
        status,
        &json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status.as_u16(), "message": message }),
    )
}

fn document(status: StatusCode, value: &serde_json::Value) -> Response<Body> {
    let mut response = full(status, Bytes::from(value.to_string()));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn full(status: StatusCode, content: Bytes) -> Response<Body> {
    let body = Full::new(content).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response
}
