//! Requests to the API server.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Method, Request, Response};
use lockstep_callout::{ResponseBody, Server};

/// Time limit for the connection and the head of the response.
const ANSWER_BEGINS_MAX: Duration = Duration::from_secs(30);
const NAME: &str = concat!("lockstep-dashboard/", env!("CARGO_PKG_VERSION"));

/// An API server.
pub struct Backend {
    /// Its address and the TLS configuration for it.
    pub server: Server,
    /// `Authorization` header that replaces the one of the viewer.
    pub authorization: Option<HeaderValue>,
}

/// A request of a browser, reduced to the parts that are forwarded.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) accept: Option<HeaderValue>,
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) body: Bytes,
}

impl Backend {
    /// Sends a request on a connection of its own, which lives as long as the response.
    pub(crate) async fn ask(&self, asked: Asked) -> Result<Response<ResponseBody>, String> {
        let asking = tokio::time::timeout(ANSWER_BEGINS_MAX, self.send(asked)).await;
        asking.unwrap_or_else(|_| Err("it does not answer".to_owned()))
    }

    async fn send(&self, asked: Asked) -> Result<Response<ResponseBody>, String> {
        let request = self.request(asked).map_err(|error| error.to_string())?;
        let connection = self.server.connect().await;
        let connection = connection.map_err(|error| error.to_string())?;
        let sent = connection.send_streaming(request).await;
        sent.map_err(|error| error.to_string())
    }

    fn request(&self, asked: Asked) -> Result<Request<Full<Bytes>>, hyper::http::Error> {
        let mut request = Request::builder()
            .method(asked.method)
            .uri(asked.path)
            .header(HOST, self.server.authority())
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
