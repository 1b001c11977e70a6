//! A client that costs little: requests over one HTTP/2 connection, answers read and dropped.

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// Bearer token of the client; servers accept it through a token file.
pub(crate) const TOKEN: &str = "bench-token";
/// HTTP/2 flow-control window, large enough for whole lists.
const WINDOW_BYTES: u32 = 16 << 20;

/// One connection.
pub(crate) struct Client {
    sender: SendRequest<Full<Bytes>>,
    /// Ends with the client.
    _connection: JoinSet<()>,
}

/// HTTP request of a benchmark.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            content_type: "application/json",
            body: Bytes::new(),
        }
    }

    pub(crate) fn post(path: impl Into<String>, body: String) -> Self {
        Self {
            method: Method::POST,
            body: body.into(),
            ..Self::get(path)
        }
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self {
            method: Method::DELETE,
            ..Self::get(path)
        }
    }

    pub(crate) fn merge(path: impl Into<String>, body: String) -> Self {
        Self {
            method: Method::PATCH,
            content_type: "application/merge-patch+json",
            ..Self::post(path, body)
        }
    }

    pub(crate) fn apply(path: impl Into<String>, body: String) -> Self {
        Self {
            content_type: "application/apply-patch+yaml",
            ..Self::merge(path, body)
        }
    }
}

impl Client {
    pub(crate) async fn connect(port: u16) -> anyhow::Result<Self> {
        Self::connect_with(port, WINDOW_BYTES).await
    }

    /// Connects with an HTTP/2 window of this size, which bounds the data that is sent but not yet read.
    pub(crate) async fn connect_with(port: u16, window_bytes: u32) -> anyhow::Result<Self> {
        let tcp = TcpStream::connect(("127.0.0.1", port)).await?;
        tcp.set_nodelay(true)?;
        let connector = TlsConnector::from(Arc::new(tls()?));
        let name = ServerName::try_from("localhost")?;
        let stream = TokioIo::new(connector.connect(name, tcp).await?);
        let (sender, connection) = http2::Builder::new(TokioExecutor::new())
            .initial_stream_window_size(window_bytes)
            .initial_connection_window_size(window_bytes)
            .handshake(stream)
            .await?;
        let mut driving = JoinSet::new();
        driving.spawn(async move {
            // Pending requests on this connection report its error.
            drop(connection.await);
        });
        Ok(Self {
            sender,
            _connection: driving,
        })
    }

    /// Sends a request whose answer may stream.
    pub(crate) async fn open(&self, call: &Call) -> anyhow::Result<Response<Incoming>> {
        let request = Request::builder()
            .method(call.method.clone())
            .uri(format!("https://localhost{}", call.path))
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("accept", "application/json")
            .header("content-type", call.content_type)
            .header("user-agent", "bench/1")
            .body(Full::new(call.body.clone()))?;
        Ok(self.sender.clone().send_request(request).await?)
    }

    /// Sends a request, and reads the answer to its end; a refusal is an error.
    pub(crate) async fn send(&self, call: &Call) -> anyhow::Result<Bytes> {
        let answer = self.open(call).await?;
        let status = answer.status();
        let body = answer.into_body().collect().await?.to_bytes();
        let said = || String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        anyhow::ensure!(
            status.is_success(),
            "{} {}: {status} {}",
            call.method,
            call.path,
            said()
        );
        Ok(body)
    }
}

fn tls() -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder
        .with_safe_default_protocol_versions()
        .context("no version of TLS")?;
    let verifier = Arc::new(AnyServer(provider));
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(config)
}

/// The servers were started here a moment ago, so whom to trust is no question.
#[derive(Debug)]
struct AnyServer(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(
            message,
            cert,
            dss,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
