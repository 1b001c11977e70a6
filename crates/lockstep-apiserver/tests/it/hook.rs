//! Webhook in this process: a TLS server with configurable responses.

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
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// Handler of a webhook: maps a request body to a response. `None` means that it never responds.
pub(crate) type Say = Box<dyn Fn(Value) -> Option<Said> + Send + Sync>;

pub(crate) struct Said {
    pub(crate) code: u16,
    pub(crate) header: (&'static str, &'static str),
    pub(crate) body: Bytes,
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
pub(crate) struct Hook {
    /// Its address.
    pub(crate) url: String,
    state: Arc<State>,
    _serving: JoinSet<()>,
}

struct State {
    say: Mutex<Arc<Say>>,
    meeting: Mutex<Option<Arc<Barrier>>>,
    asked: Mutex<Vec<(String, Value)>>,
    connections: AtomicUsize,
}

/// A certificate, its key, and who vouches for it, in PEM.
pub(crate) struct Pair {
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) authority: String,
}

fn params(name: &str, until_year: i32) -> CertificateParams {
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(until_year, 1, 1);
    params
}

/// A certificate that vouches for itself, with or without saying that it is an authority.
pub(crate) fn self_signed(name: &str, is_ca: IsCa, until_year: i32) -> Pair {
    let mut params = params(name, until_year);
    params.is_ca = is_ca;
    sealed(&params)
}

fn sealed(params: &CertificateParams) -> Pair {
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    Pair {
        authority: certificate.clone(),
        certificate,
        key: key.serialize_pem(),
    }
}

/// A certificate that vouches for itself, for one use.
pub(crate) fn used_by(purpose: ExtendedKeyUsagePurpose) -> Pair {
    let mut params = params("127.0.0.1", 2099);
    params.extended_key_usages = vec![purpose];
    sealed(&params)
}

/// The usual one: its own authority, for 127.0.0.1.
pub(crate) fn own_authority() -> Pair {
    self_signed("127.0.0.1", IsCa::Ca(BasicConstraints::Unconstrained), 2099)
}

/// A certificate of an authority.
pub(crate) fn issued() -> Pair {
    let mut authority = params("authority", 2099);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority_key = KeyPair::generate().unwrap();
    let pem = authority.self_signed(&authority_key).unwrap().pem();
    let issuer = Issuer::new(authority, authority_key);
    let key = KeyPair::generate().unwrap();
    let leaf = params("127.0.0.1", 2099).signed_by(&key, &issuer).unwrap();
    Pair {
        certificate: leaf.pem(),
        key: key.serialize_pem(),
        authority: pem,
    }
}

/// TLS acceptor with this certificate.
pub(crate) fn acceptor(pair: &Pair) -> TlsAcceptor {
    let chain = CertificateDer::pem_slice_iter(pair.certificate.as_bytes());
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.collect::<Result<_, _>>().unwrap(), key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

impl Hook {
    pub(crate) async fn start(pair: &Pair, say: Say) -> Self {
        let acceptor = acceptor(pair);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/convert", listener.local_addr().unwrap());
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
            state,
            _serving: serving,
        }
    }

    /// Answers otherwise from now on.
    pub(crate) fn now_says(&self, say: Say) {
        *self.state.say.lock() = Arc::new(say);
    }

    /// Lets the next calls wait for each other, so many of them, and then answers them all.
    pub(crate) fn now_waits_for(&self, calls: usize) {
        *self.state.meeting.lock() = Some(Arc::new(Barrier::new(calls)));
    }

    /// The paths and bodies of the calls since the last time.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        std::mem::take(&mut self.state.asked.lock())
    }

    /// Number of connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.state.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, state: Arc<State>) {
    let mut connections = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
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
        body => serde_json::from_slice(body).unwrap(),
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
    Ok(response.body(Full::new(said.body)).unwrap())
}
