//! Webhook in this process: a TLS server with responses that a test chooses.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use crate::certificates::{Pair, own_authority};

/// Handler of a webhook: maps a request body to a response. `None` means that it never responds.
pub type Say = Box<dyn Fn(Value) -> Option<Said> + Send + Sync>;

/// Response of a webhook.
pub struct Said {
    /// The status code.
    pub code: u16,
    /// The only header that the webhook chooses.
    pub header: (&'static str, &'static str),
    /// The body.
    pub body: Bytes,
}

impl From<Value> for Said {
    fn from(body: Value) -> Self {
        Self {
            code: 200,
            header: ("content-type", "application/json"),
            body: body.to_string().into(),
        }
    }
}

/// A running webhook; it ends when it is dropped.
pub struct Hook {
    /// URL of the webhook.
    pub url: String,
    /// Certificate of its CA, in PEM.
    pub authority: String,
    state: Arc<State>,
    _serving: JoinSet<()>,
}

struct State {
    say: Mutex<Arc<Say>>,
    meeting: Mutex<Option<Arc<Barrier>>>,
    asked: Mutex<Vec<(String, Value)>>,
    connections: AtomicUsize,
}

/// TLS acceptor with a certificate.
///
/// # Panics
///
/// If the certificate or its key is not PEM, or one does not fit the other.
pub fn acceptor(pair: &Pair) -> TlsAcceptor {
    let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider knows a version")
        .with_no_client_auth()
        .with_single_cert(
            chain
                .collect::<Result<_, _>>()
                .expect("the certificate is PEM"),
            key.expect("the key is PEM"),
        )
        .expect("the key fits the certificate");
    TlsAcceptor::from(Arc::new(config))
}

impl Hook {
    /// Starts a webhook with a certificate of its own.
    pub async fn new(say: Say) -> Self {
        Self::start(&own_authority(), say).await
    }

    /// Starts a webhook.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start(pair: &Pair, say: Say) -> Self {
        let acceptor = acceptor(pair);
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("it is bound");
        let url = format!("https://{address}/convert");
        let state = Arc::new(State {
            say: Mutex::new(Arc::new(say)),
            meeting: Mutex::default(),
            asked: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let mut serving = JoinSet::new();
        serving.spawn(accept(listener, acceptor, Arc::clone(&state)));
        Self {
            url,
            authority: pair.authority.clone(),
            state,
            _serving: serving,
        }
    }

    /// Replaces the handler.
    pub fn now_says(&self, say: Say) {
        *self.state.say.lock() = Arc::new(say);
    }

    /// Holds the next calls until so many have arrived, and then answers them all.
    pub fn now_waits_for(&self, calls: usize) {
        *self.state.meeting.lock() = Some(Arc::new(Barrier::new(calls)));
    }

    /// The paths and bodies of the calls since the last time.
    pub fn asked(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.state.asked.lock())
    }

    /// Number of connections accepted so far.
    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("connections come");
        let (acceptor, state) = (acceptor.clone(), Arc::clone(&state));
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            state.connections.fetch_add(1, Ordering::SeqCst);
            let service = service_fn(|request| answer(Arc::clone(&state), request));
            let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            drop(connection.await);
        });
    }
}

async fn answer(
    state: Arc<State>,
    request: Request<Incoming>,
) -> hyper::Result<Response<Full<Bytes>>> {
    let path = request.uri().to_string();
    let body = request.into_body().collect().await?.to_bytes();
    let body: Value = match &body[..] {
        [] => Value::Null,
        body => serde_json::from_slice(body).expect("a webhook is sent JSON"),
    };
    state.asked.lock().push((path, body.clone()));
    let meeting = state.meeting.lock().clone();
    if let Some(meeting) = meeting {
        meeting.wait().await;
        *state.meeting.lock() = None;
    }
    let say = Arc::clone(&*state.say.lock());
    let Some(said) = say(body) else {
        return std::future::pending().await;
    };
    let response = Response::builder().status(said.code);
    let response = response.header(said.header.0, said.header.1);
    Ok(response
        .body(Full::new(said.body))
        .expect("a response of HTTP"))
}
