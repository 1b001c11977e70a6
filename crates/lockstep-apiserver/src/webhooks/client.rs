//! Calling one webhook.

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

use super::config::Target;
use super::connection::{Connection, Failure};
use super::{CallError, ClientConfig, ConfigError, Problem, Services, trust};

/// How many connections to one webhook stay open while nobody calls it.
const IDLE_CONNECTIONS_MAX: usize = 8;
/// How long.
const IDLE_MAX: Duration = Duration::from_secs(90);
/// How much of the body of an error is told.
const REFUSAL_BYTES_MAX: usize = 512;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What bounds a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallLimits {
    /// How long it may take, all in all.
    pub timeout: Duration,
    /// How large the answer may be.
    pub answer_bytes_max: usize,
}

/// The client of one webhook.
pub struct Client {
    config: ClientConfig,
    /// Where Services are, if somebody knows.
    services: Option<Services>,
    /// Made of the configuration when it is first needed.
    route: OnceLock<Result<Route, ConfigError>>,
    idle: Mutex<Vec<Connection>>,
}

struct Route {
    target: Target,
    tls: TlsConnector,
}

impl Client {
    pub(super) fn new(config: ClientConfig, services: Option<Services>) -> Self {
        Self {
            config,
            services,
            route: OnceLock::new(),
            idle: Mutex::default(),
        }
    }

    /// Where the webhook is.
    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// Sends JSON and returns what comes back, if it comes with a code of success.
    pub async fn post(&self, body: Bytes, limits: CallLimits) -> Result<Bytes, CallError> {
        let route = self.route.get_or_init(|| Route::of(&self.config));
        let route = route.as_ref().map_err(Clone::clone)?;
        let Target {
            authority, path, ..
        } = &route.target;
        let asked = format!("{path}?timeout={}s", limits.timeout.as_secs());
        let told = |problem| CallError::Call {
            url: format!("https://{authority}{asked}"),
            problem,
        };
        let request = Request::post(&asked)
            .header(HOST, authority)
            .header(CONTENT_TYPE, JSON)
            .header(ACCEPT, JSON)
            .header(USER_AGENT, "lockstep")
            .body(Full::new(body))
            .map_err(|_| ConfigError::Url(asked.clone()))?;
        let calling = self.call(route, request, limits.answer_bytes_max);
        match tokio::time::timeout(limits.timeout, calling).await {
            Ok(answer) => answer.map_err(told),
            Err(_) => Err(told(Problem::Timeout(limits.timeout))),
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
                Err(Failure::Unsent(again)) => request = *again,
                Err(Failure::Failed(error)) => return Err(Problem::Http(error)),
            }
        }
        let mut connection = route.connect(self.services.as_ref()).await?;
        match connection.send(request).await {
            Ok(response) => self.finish(connection, response, bytes_max).await,
            Err(Failure::Unsent(_)) => Err(Problem::Connect {
                address: route.target.authority.clone(),
                error: std::io::ErrorKind::ConnectionReset.into(),
            }),
            Err(Failure::Failed(error)) => Err(Problem::Http(error)),
        }
    }

    /// A connection that was used before and is still good.
    async fn idle_connection(&self) -> Option<Connection> {
        loop {
            let mut connection = self.idle.lock().pop()?;
            if connection.used.elapsed() < IDLE_MAX && connection.is_open().await {
                return Some(connection);
            }
        }
    }

    /// Reads the rest of an answer, and keeps the connection.
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
            let content_type = content_type.and_then(|told| told.to_str().ok());
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
            target: config.target()?,
            tls: TlsConnector::from(Arc::new(trust::tls(&config.ca_bundle)?)),
        })
    }

    async fn connect(&self, services: Option<&Services>) -> Result<Connection, Problem> {
        let stream = self.dial(services).await?;
        let name = self.target.server_name.clone();
        let stream = self.tls.connect(name, stream).await.map_err(untrusted)?;
        Connection::open(stream).await.map_err(Problem::Http)
    }

    /// The first of the places of the Service, or of the host, where somebody listens.
    async fn dial(&self, services: Option<&Services>) -> Result<TcpStream, Problem> {
        let Target { host, port, .. } = &self.target;
        let places = match (&self.target.service, services) {
            (Some((namespace, name)), Some(services)) => services.find(namespace, name, *port)?,
            _ => vec![(host.clone(), *port)],
        };
        let mut last = None;
        for (host, port) in places {
            match self.dial_at(&host, port).await {
                Ok(stream) => return Ok(stream),
                Err(problem) => last = Some(problem),
            }
        }
        Err(last.expect("there is a place, or it is told why not"))
    }

    /// The first of the addresses of a host that somebody listens on.
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
                Ok(stream) => {
                    // Requests are small and wait for their answers; if it fails, they wait longer.
                    let _best_effort = stream.set_nodelay(true);
                    return Ok(stream);
                }
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
}

/// Who is not trusted is another problem than who does not speak TLS.
fn untrusted(error: std::io::Error) -> Problem {
    let inner = error
        .get_ref()
        .and_then(|e| e.downcast_ref::<rustls::Error>());
    match inner {
        Some(rustls::Error::InvalidCertificate(why)) => Problem::Untrusted(why.clone()),
        _ => Problem::Tls(error),
    }
}
