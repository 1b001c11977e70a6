//! Proxy to the API server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_util::task::TaskTracker;

/// Timeout for a connection and the response headers.
const ANSWER_BEGINS_MAX: Duration = Duration::from_secs(30);
const NAME: &str = concat!("lockstep-dashboard/", env!("CARGO_PKG_VERSION"));

/// An API server.
pub struct Backend {
    /// Host name, as in its certificate.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// CA bundle, and the client certificate if there is one.
    pub tls: Arc<ClientConfig>,
    /// `Authorization` header that replaces the viewer's.
    pub authorization: Option<HeaderValue>,
}

/// A request to proxy.
pub(crate) struct ProxiedRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) accept: Option<HeaderValue>,
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) body: Bytes,
}

impl Backend {
    /// Sends a request on a new connection, which is closed with the response.
    pub(crate) async fn ask(
        &self,
        asked: ProxiedRequest,
        tasks: &TaskTracker,
    ) -> Result<Response<Incoming>, String> {
        let asking = tokio::time::timeout(ANSWER_BEGINS_MAX, self.send(asked, tasks)).await;
        asking.unwrap_or_else(|_| Err("it does not answer".to_owned()))
    }

    async fn send(
        &self,
        asked: ProxiedRequest,
        tasks: &TaskTracker,
    ) -> Result<Response<Incoming>, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let request = self.request(asked).map_err(|error| text(&error))?;
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(|error| text(&error))?;
        let name = ServerName::try_from(self.host.clone()).map_err(|error| text(&error))?;
        let stream = TlsConnector::from(Arc::clone(&self.tls))
            .connect(name, stream)
            .await;
        let stream = stream.map_err(|error| text(&error))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| text(&error))?;
        tasks.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection to the API server ended");
            }
        });
        sender
            .send_request(request)
            .await
            .map_err(|error| text(&error))
    }

    fn request(&self, asked: ProxiedRequest) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let host = if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        };
        let mut request = Request::builder()
            .method(asked.method)
            .uri(asked.path)
            .header(HOST, host)
            .header(USER_AGENT, NAME);
        let authorization = self.authorization.clone().or(asked.authorization);
        let headers = [
            (ACCEPT, asked.accept),
            (CONTENT_TYPE, asked.content_type),
            (AUTHORIZATION, authorization),
        ];
        for (name, value) in headers {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        request.body(Full::new(asked.body))
    }
}
