//! One request to the API server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::Method;
use lockstep_callout::{Server, ServerTrust, tls_config};

use super::kubeconfig::Access;

/// A server that takes longer is not reachable.
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// HTTP request to the API server.
pub(super) struct Question<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    /// Media type of the body.
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

/// HTTP response of the API server.
pub(super) struct Answered {
    pub(super) code: u16,
    pub(super) body: Vec<u8>,
    /// The texts of `Warning` headers.
    pub(super) warnings: Vec<String>,
}

/// Sends a request and reads the response; errors are transport errors or a timeout, never HTTP statuses.
pub(super) async fn answer(access: &Access, question: Question<'_>) -> Result<Answered, String> {
    let asked = tokio::time::timeout(REQUEST_MAX, ask(access, question)).await;
    asked.unwrap_or_else(|_| Err("no answer in time".to_owned()))
}

async fn ask(access: &Access, question: Question<'_>) -> Result<Answered, String> {
    let text = |error: &dyn std::error::Error| error.to_string();
    let uri: hyper::Uri = format!("{}{}", access.server(), question.path)
        .parse()
        .map_err(|_| "the address is not a URL".to_owned())?;
    if uri.scheme_str() != Some("https") {
        return Err("the address does not begin with https://".to_owned());
    }
    let server = match server(access, &uri) {
        Ok(server) => server,
        Err(why) => {
            // A server that is not there is the more useful message than a kubeconfig that could not be used with it.
            let place = (host(&uri), uri.port_u16().unwrap_or(443));
            let reached = tokio::net::TcpStream::connect(place).await;
            return Err(reached.map_or_else(|error| text(&error), |_| why));
        }
    };
    let mut request = hyper::Request::builder()
        .method(question.method)
        .uri(question.path)
        .header("content-type", question.content_type)
        .header("host", uri.authority().map_or("", |host| host.as_str()));
    if let Some(token) = &access.token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let request = request.body(Full::new(Bytes::from(question.body)));
    let request = request.map_err(|_| "the token cannot be sent in a header".to_owned())?;
    let mut connection = server.connect().await.map_err(|error| text(&error))?;
    let response = connection.send(request).await;
    let response = response.map_err(|error| text(&error))?;
    let code = response.status().as_u16();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings.filter_map(|value| super::warning::text(value.to_str().ok()?));
    let warnings = warnings.collect();
    let reading = Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect();
    let body = connection.during(reading).await;
    let body = body.map_err(|error| error.to_string())?;
    Ok(Answered {
        code,
        body: body.to_bytes().to_vec(),
        warnings,
    })
}

/// The server of an `https` URL, with the TLS configuration of the kubeconfig.
pub(super) fn server(access: &Access, uri: &hyper::Uri) -> Result<Server, String> {
    let trust = if access.is_unverified {
        ServerTrust::Unverified
    } else {
        ServerTrust::Authorities(access.authority.as_deref().unwrap_or_default())
    };
    let identity = access.certificate.as_ref();
    let identity = identity.map(|(certificate, key)| (&certificate[..], &key[..]));
    let tls = tls_config(trust, identity).map_err(|error| error.to_string())?;
    Ok(Server {
        host: host(uri).to_owned(),
        port: uri.port_u16().unwrap_or(443),
        tls: Arc::new(tls),
    })
}

/// Host of a URL without the brackets of an IPv6 address.
fn host(uri: &hyper::Uri) -> &str {
    uri.host().unwrap_or_default().trim_matches(['[', ']'])
}
