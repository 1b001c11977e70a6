//! A client: one TLS connection with HTTP/2 or HTTP/1.1 on it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use lockstep_testkit::wait::eventually;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// A certificate chain and its key.
pub(crate) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    pub(crate) fn from_pem(certificate: &[u8], key: &[u8]) -> Self {
        let chain: Result<_, _> = CertificateDer::pem_slice_iter(certificate).collect();
        Self {
            chain: chain.unwrap(),
            key: PrivateKeyDer::from_pem_slice(key).unwrap(),
        }
    }
}

/// TLS configuration of a client: the trusted CA, an optional client certificate and the ALPN protocol.
pub(crate) fn config(authority: &[u8], identity: Option<Identity>, protocol: &str) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::pem_slice_iter(authority).collect::<Result<Vec<_>, _>>();
    roots.add_parsable_certificates(authority.unwrap());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = builder.with_root_certificates(roots);
    let mut config = match identity {
        Some(Identity { chain, key }) => builder.with_client_auth_cert(chain, key).unwrap(),
        None => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    config
}

/// A TLS connection and nothing on it.
pub(crate) async fn raw(
    address: SocketAddr,
    name: &'static str,
    config: ClientConfig,
) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let name = ServerName::try_from(name).unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// An open connection.
pub(crate) struct Client {
    sender: Sender,
    address: SocketAddr,
    /// Done when the connection is.
    pub(crate) ended: tokio::task::JoinHandle<()>,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Code and body at once.
    pub(crate) fn brief(&self) -> (u16, &str) {
        (self.status.as_u16(), &self.body)
    }

    /// Code, reason and message of a `Status`.
    pub(crate) fn failure(&self) -> (u16, String, String) {
        let status = self.json();
        assert_eq!(status["kind"], "Status");
        assert_eq!(status["code"], self.status.as_u16());
        let text = |key: &str| status[key].as_str().unwrap_or_default().to_owned();
        (self.status.as_u16(), text("reason"), text("message"))
    }
}

impl Client {
    pub(crate) async fn connect(
        address: SocketAddr,
        authority: &[u8],
        identity: Option<Identity>,
        protocol: &str,
    ) -> Self {
        let config = config(authority, identity, protocol);
        Self::over(raw(address, "localhost", config).await.unwrap(), address).await
    }

    #[expect(clippy::disallowed_methods, reason = "the handle is kept")]
    async fn over(stream: TlsStream<TcpStream>, address: SocketAddr) -> Self {
        let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        let io = TokioIo::new(stream);
        let (sender, ended) = if http2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
            (
                Sender::Http2(sender),
                tokio::spawn(async { drop(connection.await) }),
            )
        } else {
            let (sender, connection) = http1::handshake(io).await.unwrap();
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

    pub(crate) async fn open(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> hyper::Result<http::Response<Incoming>> {
        let mut request = Request::builder().method(method);
        request = match self.sender {
            Sender::Http1(_) => request.uri(path).header("host", self.address.to_string()),
            Sender::Http2(_) => request.uri(format!("https://{}{path}", self.address)),
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::new(body)).unwrap();
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

    pub(crate) async fn send(
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
            body: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    /// Form of `send` for responses that may not be text.
    pub(crate) async fn send_raw(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> (http::response::Parts, Bytes) {
        let response = self.open(method, path, headers, body.into()).await.unwrap();
        let (parts, body) = response.into_parts();
        (parts, body.collect().await.unwrap().to_bytes())
    }

    /// Sends a document as JSON.
    pub(crate) async fn write(
        &mut self,
        method: &str,
        path: &str,
        document: &serde_json::Value,
    ) -> Answer {
        let json = [("content-type", "application/json")];
        self.send(method, path, &json, document.to_string()).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    /// Repeats a GET until its answer is as wanted.
    pub(crate) async fn get_until(
        &mut self,
        path: &str,
        is_wanted: impl Fn(&Answer) -> bool,
    ) -> Answer {
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
