//! One request over TLS.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::Method;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::kubeconfig::Access;
use super::unverified::Unverified;

/// A server that takes longer is not reachable.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// What is asked.
pub(super) struct Question<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    /// What kind of text the body is.
    pub(super) content_type: &'a str,
    pub(super) body: Vec<u8>,
}

impl<'a> Question<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self::json(Method::GET, path, Vec::new())
    }

    pub(super) fn json(method: Method, path: &'a str, body: Vec<u8>) -> Self {
        let content_type = "application/json";
        Self {
            method,
            path,
            content_type,
            body,
        }
    }
}

/// What is answered.
pub(super) struct Answered {
    pub(super) code: u16,
    pub(super) body: Vec<u8>,
    /// The texts of `Warning` headers.
    pub(super) warnings: Vec<String>,
}

/// What was answered, or what went wrong on the way.
pub(super) async fn answer(access: &Access, question: Question<'_>) -> Result<Answered, String> {
    let asked = tokio::time::timeout(REQUEST_MAX, ask(access, question)).await;
    asked.unwrap_or_else(|_| Err("no answer in time".to_owned()))
}

async fn ask(access: &Access, question: Question<'_>) -> Result<Answered, String> {
    let path = question.path;
    let text = |error: &dyn std::error::Error| error.to_string();
    let uri: hyper::Uri = format!("{}{path}", access.server())
        .parse()
        .map_err(|_| "the address is not a URL".to_owned())?;
    if uri.scheme_str() != Some("https") {
        return Err("the address does not begin with https://".to_owned());
    }
    let host = uri
        .host()
        .unwrap_or_default()
        .trim_matches(['[', ']'])
        .to_owned();
    let stream = TcpStream::connect((host.as_str(), uri.port_u16().unwrap_or(443)));
    let stream = stream.await.map_err(|error| text(&error))?;
    let name = ServerName::try_from(host).map_err(|error| text(&error))?;
    let connector = TlsConnector::from(Arc::new(config(access)?));
    let stream = connector
        .connect(name, stream)
        .await
        .map_err(|error| text(&error))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| text(&error))?;
    let mut request = hyper::Request::builder()
        .method(question.method)
        .uri(path)
        .header("content-type", question.content_type)
        .header("host", uri.authority().map_or("", |host| host.as_str()));
    if let Some(token) = &access.token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Full::new(Bytes::from(question.body)));
    let request = request.map_err(|_| "the token cannot be sent in a header".to_owned())?;
    let answered = async {
        let response = sender
            .send_request(request)
            .await
            .map_err(|error| text(&error))?;
        let code = response.status().as_u16();
        let warnings = response.headers().get_all("warning").iter();
        let warnings = warnings.filter_map(|value| super::warning::text(value.to_str().ok()?));
        let warnings = warnings.collect();
        let body = Limited::new(response.into_body(), ANSWER_BYTES_MAX)
            .collect()
            .await;
        let body = body.map_err(|error| error.to_string())?;
        let body = body.to_bytes().to_vec();
        Ok(Answered {
            code,
            body,
            warnings,
        })
    };
    tokio::select! {
        answered = answered => answered,
        Err(error) = connection => Err(text(&error)),
    }
}

pub(super) fn config(access: &Access) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| error.to_string())?;
    let builder = if access.is_unverified {
        let verifier = Arc::new(Unverified(provider));
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
    } else {
        builder.with_root_certificates(roots(access)?)
    };
    let Some((certificate, key)) = &access.certificate else {
        return Ok(builder.with_no_client_auth());
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
    let key = PrivateKeyDer::from_pem_slice(key);
    let (Ok(chain), Ok(key)) = (chain, key) else {
        return Err("client-certificate or client-key is not in PEM form".to_owned());
    };
    builder
        .with_client_auth_cert(chain, key)
        .map_err(|error| error.to_string())
}

fn roots(access: &Access) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    let authority = access.authority.as_deref().unwrap_or_default();
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(authority).collect();
    let certificates =
        certificates.map_err(|_| "certificate-authority is not in PEM form".to_owned())?;
    if certificates.is_empty() {
        return Err(
            "no certificate authority is known for it; name a kubeconfig with `--kubeconfig`"
                .to_owned(),
        );
    }
    roots.add_parsable_certificates(certificates);
    Ok(roots)
}
