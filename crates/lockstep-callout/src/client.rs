//! The client of one webhook.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::config::Target;
use crate::connection::{Connection, Failure};
use crate::server::{ConnectError, handshake};
use crate::{CallError, ClientConfig, ConfigError, Problem, ResolveService, trust};

/// Most idle connections to one webhook.
const IDLE_CONNECTIONS_MAX: usize = 8;
/// Age at which an idle connection is no longer used.
const IDLE_MAX: Duration = Duration::from_secs(90);
/// Length of an error body that is quoted in the error.
const REFUSAL_BYTES_MAX: usize = 512;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Limits of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallLimits {
    /// Total time, including connecting.
    pub timeout: Duration,
    /// Largest response body.
    pub answer_bytes_max: usize,
}

/// The client of one webhook.
pub struct Client {
    config: ClientConfig,
    resolve: Option<ResolveService>,
    /// Derived from the configuration on the first call, so that an unused webhook with a bad bundle costs nothing.
    route: OnceLock<Result<Route, ConfigError>>,
    idle: Mutex<Vec<Connection>>,
}

struct Route {
    target: Target,
    tls: TlsConnector,
}

impl Client {
    /// Creates a client, which connects on its first call.
    pub fn new(config: ClientConfig, resolve: Option<ResolveService>) -> Self {
        Self {
            config,
            resolve,
            route: OnceLock::new(),
            idle: Mutex::default(),
        }
    }

    /// The configuration that it was made from.
    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// Sends a POST with a JSON body and returns the body of a 2xx response.
    pub async fn post(&self, body: Bytes, limits: CallLimits) -> Result<Bytes, CallError> {
        let path = &self.route()?.target.path;
        let uri = format!("{path}?timeout={}s", limits.timeout.as_secs());
        let request = Request::post(&uri).header(CONTENT_TYPE, JSON);
        self.send(&uri, request, body, limits).await
    }

    /// Sends a GET and returns the body of a 2xx response.
    pub async fn get(&self, limits: CallLimits) -> Result<Bytes, CallError> {
        let uri = self.route()?.target.path.clone();
        let request = Request::get(&uri);
        self.send(&uri, request, Bytes::new(), limits).await
    }

    fn route(&self) -> Result<&Route, ConfigError> {
        let route = self.route.get_or_init(|| Route::of(&self.config));
        route.as_ref().map_err(Clone::clone)
    }

    async fn send(
        &self,
        uri: &str,
        request: http::request::Builder,
        body: Bytes,
        limits: CallLimits,
    ) -> Result<Bytes, CallError> {
        let route = self.route()?;
        let authority = &route.target.authority;
        let error = |problem| CallError::Call {
            url: format!("https://{authority}{uri}"),
            problem,
        };
        let request = request
            .header(HOST, authority)
            .header(ACCEPT, JSON)
            .header(USER_AGENT, "lockstep")
            .body(Full::new(body))
            .map_err(|_| ConfigError::Url(uri.to_owned()))?;
        let calling = self.call(route, request, limits.answer_bytes_max);
        match tokio::time::timeout(limits.timeout, calling).await {
            Ok(answer) => answer.map_err(error),
            Err(_) => Err(error(Problem::Timeout(limits.timeout))),
        }
    }

    async fn call(
        &self,
        route: &Route,
        mut request: Request<Full<Bytes>>,
        bytes_max: usize,
    ) -> Result<Bytes, Problem> {
        while let Some(mut connection) = self.idle_connection().await {
            match connection.send(request).await {
                Ok(response) => return self.finish(connection, response, bytes_max).await,
                Err(Failure::Unsent(again, _)) => request = *again,
                Err(Failure::Failed(error)) => return Err(Problem::Http(error)),
            }
        }
        let mut connection = route.connect(self.resolve.as_ref()).await?;
        match connection.send(request).await {
            Ok(response) => self.finish(connection, response, bytes_max).await,
            Err(Failure::Unsent(..)) => Err(Problem::Connect {
                address: route.target.authority.clone(),
                error: std::io::ErrorKind::ConnectionReset.into(),
            }),
            Err(Failure::Failed(error)) => Err(Problem::Http(error)),
        }
    }

    /// Takes an idle connection that is still open.
    async fn idle_connection(&self) -> Option<Connection> {
        loop {
            let mut connection = self.idle.lock().pop()?;
            if connection.used.elapsed() < IDLE_MAX && connection.is_open().await {
                return Some(connection);
            }
        }
    }

    /// Reads the response body and returns the connection to the pool.
    async fn finish(
        &self,
        mut connection: Connection,
        response: Response<Incoming>,
        bytes_max: usize,
    ) -> Result<Bytes, Problem> {
        let (head, body) = response.into_parts();
        let code = head.status;
        if code.is_redirection() {
            return Err(Problem::Redirect(code));
        }
        let reading = Limited::new(body, bytes_max).collect();
        let read = connection.during(reading).await;
        let body = match read {
            Ok(body) => body.to_bytes(),
            Err(error) => match error.downcast::<hyper::Error>() {
                Ok(error) => return Err(Problem::Http(*error)),
                Err(error) if error.is::<LengthLimitError>() && !code.is_success() => Bytes::new(),
                Err(_) => return Err(Problem::TooLarge(bytes_max)),
            },
        };
        self.keep(connection).await;
        if !code.is_success() {
            let start = &body[..body.len().min(REFUSAL_BYTES_MAX)];
            let text = String::from_utf8_lossy(start).trim().to_owned();
            return Err(Problem::Refused { code, text });
        }
        if body.is_empty() {
            let content_type = head.headers.get(CONTENT_TYPE);
            let content_type = content_type.and_then(|value| value.to_str().ok());
            return Err(Problem::Empty {
                code: code.as_u16(),
                content_type: content_type.unwrap_or_default().to_owned(),
            });
        }
        Ok(body)
    }

    async fn keep(&self, mut connection: Connection) {
        if !connection.is_open().await {
            return;
        }
        connection.used = Instant::now();
        let mut idle = self.idle.lock();
        if idle.len() < IDLE_CONNECTIONS_MAX {
            idle.push(connection);
        }
    }
}

impl Route {
    fn of(config: &ClientConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            target: Target::of(config)?,
            tls: TlsConnector::from(Arc::new(trust::tls(&config.ca_bundle)?)),
        })
    }

    async fn connect(&self, resolve: Option<&ResolveService>) -> Result<Connection, Problem> {
        let stream = self.dial(resolve).await?;
        let name = self.target.server_name.clone();
        let connected = handshake(&self.tls, name, stream).await;
        connected.map_err(|error| self.problem(error))
    }

    /// Opens a TCP connection to the first place of the Service or host that accepts one.
    async fn dial(&self, resolve: Option<&ResolveService>) -> Result<TcpStream, Problem> {
        let Target { host, port, .. } = &self.target;
        let places = match (&self.target.service, resolve) {
            (Some((namespace, name)), Some(resolve)) => resolve(namespace, name, *port)?,
            _ => vec![(host.clone(), *port)],
        };
        let mut last = None;
        for (host, port) in places {
            match self.dial_at(&host, port).await {
                Ok(stream) => return Ok(stream),
                Err(problem) => last = Some(problem),
            }
        }
        Err(last.expect("a resolved Service has at least one place"))
    }

    /// Opens a TCP connection to the first address of a host that accepts one.
    async fn dial_at(&self, host: &str, port: u16) -> Result<TcpStream, Problem> {
        let unknown = |error: std::io::Error| {
            let host = host.to_owned();
            match self.target.service {
                Some(_) => Problem::Service { host, error },
                None => Problem::Lookup { host, error },
            }
        };
        let found = lookup_host((host, port)).await;
        let mut last = unknown(std::io::ErrorKind::NotFound.into());
        for address in found.map_err(unknown)? {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => {
                    last = Problem::Connect {
                        address: address.to_string(),
                        error,
                    };
                }
            }
        }
        Err(last)
    }

    fn problem(&self, error: ConnectError) -> Problem {
        match error {
            ConnectError::Tls(error) => tls_problem(error),
            ConnectError::Http(error) => Problem::Http(error),
            ConnectError::Tcp(error) => Problem::Connect {
                address: self.target.authority.clone(),
                error,
            },
            ConnectError::Host(error) => Problem::Connect {
                address: self.target.authority.clone(),
                error: std::io::Error::other(error),
            },
        }
    }
}

/// Separates an untrusted certificate, for which the error names the `caBundle`, from a failed TLS handshake.
fn tls_problem(error: std::io::Error) -> Problem {
    let inner = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => Problem::Untrusted(why.clone()),
        _ => Problem::Tls(error),
    }
}
