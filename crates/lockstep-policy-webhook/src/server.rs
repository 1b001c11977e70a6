//! The HTTPS server: connections, paths, limits, shutdown.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use lockstep_authn::trust::ServingIdentity;
use lockstep_object::{Value, json as text};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::answer::{self, Phase, Verdict};
use crate::limits::{
    ACCEPT_PAUSE, BODY_READ_MAX, CONNECTIONS_MAX, DRAIN_MAX, HANDSHAKE_MAX, HEAD_BYTES_MAX,
    HEAD_READ_MAX, REVIEW_BYTES_MAX, REVIEWS_MAX, STREAMS_MAX, WAIT_MAX,
};
use crate::metrics::{Metrics, TEXT_FORMAT};
use crate::policies::Policies;
use crate::review::refusal;

const JSON: &str = "application/json";
const TEXT: &str = "text/plain; charset=utf-8";

/// A webhook that evaluates policies.
pub struct Webhook {
    policies: Arc<Policies>,
    metrics: Arc<Metrics>,
    /// Places for reviews in memory.
    places: Semaphore,
    /// Places for evaluations, which compute.
    processors: Semaphore,
    closing: CancellationToken,
}

impl Webhook {
    /// A webhook that evaluates as many reviews at a time as there are processors.
    pub fn new(policies: Arc<Policies>, metrics: Arc<Metrics>) -> Arc<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Arc::new(Self {
            policies,
            metrics,
            places: Semaphore::new(REVIEWS_MAX),
            processors: Semaphore::new(processors),
            closing: CancellationToken::new(),
        })
    }

    /// Answers until `shutdown` is done, and then lets reviews under way finish.
    pub async fn run(
        self: Arc<Self>,
        listener: TcpListener,
        identity: Arc<ServingIdentity>,
        shutdown: impl Future<Output = ()>,
    ) -> Result<(), rustls::Error> {
        let acceptor = acceptor(identity)?;
        let tasks = TaskTracker::new();
        tokio::select! {
            () = accept(&self, &listener, &acceptor, &tasks) => {}
            () = shutdown => {}
        }
        self.closing.cancel();
        drop(listener);
        tasks.close();
        if timeout(DRAIN_MAX, tasks.wait()).await.is_err() {
            tracing::warn!("requests were still under way at the end");
        }
        Ok(())
    }

    async fn respond(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let phase = match request.uri().path() {
            "/mutate" => Phase::Mutate,
            "/validate" => Phase::Validate,
            "/healthz" | "/livez" => return plain(StatusCode::OK, "ok"),
            "/readyz" => return self.ready(),
            "/metrics" => return content(StatusCode::OK, TEXT_FORMAT, self.metrics.as_text()),
            _ => return plain(StatusCode::NOT_FOUND, "404 page not found"),
        };
        if request.method() != Method::POST {
            let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "reviews are sent by POST");
            let headers = response.headers_mut();
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
            return response;
        }
        if !is_json(request.headers()) {
            let why = "the body of the request must be application/json";
            return review(StatusCode::UNSUPPORTED_MEDIA_TYPE, &refused(415, why));
        }
        let Ok(Ok(_place)) = timeout(WAIT_MAX, self.places.acquire()).await else {
            self.metrics.rejected.inc();
            let why = "too many reviews are under way";
            return review(StatusCode::SERVICE_UNAVAILABLE, &refused(503, why));
        };
        self.metrics.under_way.inc();
        let response = self.review(phase, request).await;
        self.metrics.under_way.dec();
        response
    }

    async fn review(&self, phase: Phase, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let body = Limited::new(request.into_body(), REVIEW_BYTES_MAX).collect();
        let body = match timeout(BODY_READ_MAX, body).await {
            Ok(Ok(body)) => body.to_bytes(),
            Ok(Err(error)) if error.is::<LengthLimitError>() => {
                let why = format!("the review is larger than {REVIEW_BYTES_MAX} bytes");
                return review(StatusCode::PAYLOAD_TOO_LARGE, &refused(413, &why));
            }
            Ok(Err(_)) | Err(_) => {
                let why = "the body did not arrive";
                return review(StatusCode::BAD_REQUEST, &refused(400, why));
            }
        };
        let loaded = match self.policies.current() {
            Ok(loaded) => loaded,
            Err(why) => {
                let body = answer::broken(&body, 503, &format!("not yet ready: {why}"));
                return review(StatusCode::SERVICE_UNAVAILABLE, &body);
            }
        };
        let Ok(_processor) = self.processors.acquire().await else {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "the webhook is closing");
        };
        let begin = Instant::now();
        let evaluated = body.clone();
        let work = move || {
            let answer = answer::answer(phase, &loaded, &evaluated);
            let encoded = text::encode(&answer.body);
            (answer, encoded)
        };
        match tokio::task::spawn_blocking(work).await {
            Ok((answer, encoded)) => {
                let took = begin.elapsed();
                self.metrics
                    .reviewed(phase, answer.verdict, &answer.outcome, took);
                if answer.verdict == Verdict::Malformed {
                    tracing::warn!(why = %message(&answer.body), "a body is no review");
                }
                let code = StatusCode::from_u16(answer.code).unwrap_or(StatusCode::OK);
                content(code, JSON, encoded)
            }
            Err(_) => {
                self.metrics.panics.inc();
                let body = answer::broken(&body, 500, "a bug ended the evaluation of policies");
                review(StatusCode::INTERNAL_SERVER_ERROR, &body)
            }
        }
    }

    fn ready(&self) -> Response<Full<Bytes>> {
        if self.closing.is_cancelled() {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "shutting down");
        }
        match self.policies.current() {
            Ok(_) => plain(StatusCode::OK, "ok"),
            Err(why) => plain(StatusCode::SERVICE_UNAVAILABLE, &why),
        }
    }
}

fn refused(code: u16, why: &str) -> Value {
    let mut body = refusal("admission.k8s.io/v1", "", why);
    body["response"]["status"]["code"] = code.into();
    body
}

fn message(review: &Value) -> &str {
    let message = review["response"]["status"]["message"].as_str();
    message.unwrap_or_default()
}

/// True for JSON, also with parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE);
    let value = value
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case(JSON)
}

fn acceptor(identity: Arc<ServingIdentity>) -> Result<TlsAcceptor, rustls::Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(identity);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn accept(
    webhook: &Arc<Webhook>,
    listener: &TcpListener,
    acceptor: &TlsAcceptor,
    tasks: &TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = Arc::clone(&places).acquire_owned().await;
        match listener.accept().await {
            Ok((stream, peer)) => {
                let (webhook, acceptor) = (Arc::clone(webhook), acceptor.clone());
                tasks.spawn(async move {
                    let _place = place;
                    if let Err(error) = serve(webhook, acceptor, stream).await {
                        tracing::debug!(%peer, error, "connection ended");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(
    webhook: Arc<Webhook>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
) -> Result<(), String> {
    // Responses are small and awaited, so Nagle's algorithm only adds latency. A failure is harmless.
    let _best_effort = stream.set_nodelay(true);
    let handshake = timeout(HANDSHAKE_MAX, acceptor.accept(stream));
    let stream = tokio::select! {
        () = webhook.closing.cancelled() => return Ok(()),
        accepted = handshake => accepted.map_err(|_| "no handshake in time".to_owned())?,
    };
    let stream = stream.map_err(|error| error.to_string())?;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let ended = if is_http2 {
        serve_http2(&webhook, stream).await
    } else {
        serve_http1(&webhook, stream).await
    };
    ended.map_err(|error| error.to_string())
}

async fn serve_http1(webhook: &Arc<Webhook>, stream: TlsStream<TcpStream>) -> hyper::Result<()> {
    let service =
        service_fn(|request| async { Ok::<_, Infallible>(webhook.respond(request).await) });
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_READ_MAX)
        .max_buf_size(HEAD_BYTES_MAX);
    let mut running = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = running.as_mut() => ended,
        () = webhook.closing.cancelled() => {
            running.as_mut().graceful_shutdown();
            running.await
        }
    }
}

async fn serve_http2(webhook: &Arc<Webhook>, stream: TlsStream<TcpStream>) -> hyper::Result<()> {
    let service = service_fn(|request| {
        let webhook = Arc::clone(webhook);
        async move { Ok::<_, Infallible>(webhook.respond(request).await) }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(u32::try_from(HEAD_BYTES_MAX).unwrap_or(u32::MAX));
    let mut running = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = running.as_mut() => ended,
        () = webhook.closing.cancelled() => {
            running.as_mut().graceful_shutdown();
            running.await
        }
    }
}

fn plain(code: StatusCode, text: &str) -> Response<Full<Bytes>> {
    content(code, TEXT, format!("{text}\n").into_bytes())
}

fn review(code: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    content(code, JSON, text::encode(body))
}

fn content(code: StatusCode, media_type: &'static str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
