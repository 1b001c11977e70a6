//! HTTP client on one TLS connection, with HTTP/2 or HTTP/1.1.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::certificates::Pair;
use crate::wait::eventually;

/// A certificate chain and its key.
pub struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// Reads a certificate chain and its key.
    ///
    /// # Panics
    ///
    /// If one of them is not PEM.
    pub fn from_pem(certificate: &[u8], key: &[u8]) -> Self {
        let chain: Result<_, _> = CertificateDer::pem_slice_iter(certificate).collect();
        Self {
            chain: chain.expect("the certificate is PEM"),
            key: PrivateKeyDer::from_pem_slice(key).expect("the key is PEM"),
        }
    }
}

impl From<&Pair> for Identity {
    fn from(pair: &Pair) -> Self {
        Self::from_pem(pair.certificate.as_bytes(), pair.key.as_bytes())
    }
}

/// TLS configuration of a client: the trusted CA, an optional client certificate and the ALPN protocol.
///
/// # Panics
///
/// If the CA is not PEM, or the key does not fit the certificate.
pub fn config(authority: &[u8], identity: Option<Identity>, protocol: &str) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::pem_slice_iter(authority).collect::<Result<Vec<_>, _>>();
    roots.add_parsable_certificates(authority.expect("the CA is PEM"));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.expect("the provider knows a version");
    let builder = builder.with_root_certificates(roots);
    let mut config = match identity {
        Some(Identity { chain, key }) => builder
            .with_client_auth_cert(chain, key)
            .expect("the key fits the certificate"),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    config
}

/// Opens a TLS connection without HTTP.
///
/// # Panics
///
/// If `name` is not the name of a server.
pub async fn raw(
    address: SocketAddr,
    name: &'static str,
    config: ClientConfig,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(name).expect("a name of a server");
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// An open connection.
pub struct Client {
    sender: Sender,
    address: SocketAddr,
    /// Ends with the connection.
    pub ended: tokio::task::JoinHandle<()>,
}

/// A complete response whose body is text.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl Answer {
    /// Value of a header; empty if it is absent.
    ///
    /// # Panics
    ///
    /// If the value is not text.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("a header is text"))
    }

    /// The body as JSON.
    ///
    /// # Panics
    ///
    /// If it is not JSON.
    pub fn json(&self) -> Value {
        let read = serde_json::from_str(&self.body);
        read.unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// Status code and body.
    pub fn brief(&self) -> (u16, &str) {
        (self.status.as_u16(), &self.body)
    }

    /// Code, reason and message of a `Status`.
    ///
    /// # Panics
    ///
    /// If the body is not a `Status`, or its code is another one.
    pub fn failure(&self) -> (u16, String, String) {
        let status = self.json();
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["code"], self.status.as_u16());
        let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), text("reason"), text("message"))
    }
}

impl Client {
    /// Connects to a server with the certificate of its CA, by the ALPN protocol `h2` or `http/1.1`.
    ///
    /// # Panics
    ///
    /// If the server does not accept the connection.
    pub async fn connect(
        address: SocketAddr,
        authority: &[u8],
        identity: Option<Identity>,
        protocol: &str,
    ) -> Self {
        let config = config(authority, identity, protocol);
        let stream = raw(address, "localhost", config).await;
        Self::over(stream.expect("the server accepts connections"), address).await
    }

    #[expect(clippy::disallowed_methods, reason = "the handle is kept")]
    async fn over(stream: TlsStream<TcpStream>, address: SocketAddr) -> Self {
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        let (sender, ended) = if http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io)
                .await
                .expect("the server speaks HTTP/2");
            (
                Sender::Http2(sender),
                tokio::spawn(async { drop(connection.await) }),
            )
        } else {
            let (sender, connection) = http1::handshake(io)
                .await
                .expect("the server speaks HTTP/1.1");
            (
                Sender::Http1(sender),
                tokio::spawn(async { drop(connection.await) }),
            )
        };
        Self {
            sender,
            address,
            ended,
        }
    }

    /// Sends a request and returns the response when its head has arrived.
    ///
    /// # Panics
    ///
    /// If the request cannot be expressed in HTTP.
    pub async fn open(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> hyper::Result<http::Response<Incoming>> {
        let request = self.request(method, path, headers, body);
        match &mut self.sender {
            Sender::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await
            }
        }
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::builder().method(method);
        request = match self.sender {
            Sender::Http1(_) => request.uri(path).header("host", self.address.to_string()),
            Sender::Http2(_) => request.uri(format!("https://{}{path}", self.address)),
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Full::new(body)).expect("a request of HTTP")
    }

    /// Sends a GET on a stream of its own and returns its status, while others are under way.
    ///
    /// # Panics
    ///
    /// If the connection is not HTTP/2, or fails.
    pub fn get_aside(
        &self,
        path: &str,
        headers: &[(&str, &str)],
    ) -> impl Future<Output = StatusCode> + Send + use<> {
        let request = self.request("GET", path, headers, Bytes::new());
        let Sender::Http2(sender) = &self.sender else {
            panic!("streams are of HTTP/2");
        };
        let mut sender = sender.clone();
        async move {
            sender.ready().await.expect("the connection stands");
            let response = sender.send_request(request).await;
            response.expect("the connection stands").status()
        }
    }

    /// Sends a request and returns the complete response.
    ///
    /// # Panics
    ///
    /// If the connection fails, or the body is not text.
    pub async fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let (parts, body) = self.send_raw(method, path, headers, body).await;
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: String::from_utf8(body.to_vec()).expect("the body is text"),
        }
    }

    /// Form of `send` for responses that may not be text.
    ///
    /// # Panics
    ///
    /// If the connection fails.
    pub async fn send_raw(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (http::response::Parts, Bytes) {
        let response = self.open(method, path, headers, body.into()).await;
        let (parts, body) = response.expect("the connection stands").into_parts();
        let body = body.collect().await.expect("the connection stands");
        (parts, body.to_bytes())
    }

    /// Sends a document as JSON.
    pub async fn write(&mut self, method: &str, path: &str, document: &Value) -> Answer {
        let json = [("content-type", "application/json")];
        self.send(method, path, &json, document.to_string()).await
    }

    /// Sends a GET.
    pub async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    /// Repeats a GET until the answer is as wanted.
    ///
    /// # Panics
    ///
    /// After the time limit of [`eventually`], with the last answer.
    pub async fn get_until(&mut self, path: &str, is_wanted: impl Fn(&Answer) -> bool) -> Answer {
        let get = async || {
            let answer = self.get(path).await;
            if is_wanted(&answer) {
                Ok(answer)
            } else {
                Err(answer)
            }
        };
        eventually(path, get).await
    }
}
