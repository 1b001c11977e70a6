//! Connection to one member.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use lockstep_etcd_api::etcdserverpb::StatusRequest;
use lockstep_etcd_api::etcdserverpb::kv_client::KvClient;
use lockstep_etcd_api::etcdserverpb::lease_client::LeaseClient;
use lockstep_etcd_api::etcdserverpb::maintenance_client::MaintenanceClient;
use lockstep_etcd_api::etcdserverpb::watch_client::WatchClient;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::body::Body;
use tower_service::Service;

use crate::call_error::describe;
use crate::options::{Address, TlsFiles};
use crate::tls::{self, TlsError};
use crate::version::Version;

/// Ping interval while a request or watch is open. Idle connections are not pinged: etcd closes connections that
/// ping without an open stream.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
/// Ping timeout.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);
/// HTTP/2 window of a stream, the unread data a member may send.
const STREAM_WINDOW_BYTES: u32 = 1 << 20;
/// Maximum connection window, so that unread streams never block others; each stream has its own bound.
const CONNECTION_WINDOW_BYTES: u32 = (1 << 31) - 1;
/// Maximum response size, as in etcd's own client.
const ANSWER_BYTES_MAX: usize = (1 << 31) - 1;

/// Errors of dialing a member.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialError {
    #[error("{0}")]
    Connect(#[from] std::io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("`{0}` is no name that a certificate can have")]
    Name(String),
    #[error("HTTP/2: {0}")]
    Http(#[from] hyper::Error),
    #[error("{}", describe(.0))]
    Status(#[from] tonic::Status),
    #[error("no connection within {0:?}")]
    TimedOut(Duration),
    #[error("runs etcd {found}; {} is the oldest that works", Version::OLDEST)]
    TooOld { found: Version },
    #[error("tells no version of etcd: use etcd itself instead of a layer over another database")]
    NoVersion,
    #[error("is a learner, which serves no requests")]
    Learner,
    #[error("belongs to another cluster than the member that was used first")]
    OtherCluster,
}

/// A connection that was established and may have failed since. Clones share it; it closes with the last.
#[derive(Clone)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
}

struct Shared {
    channel: Channel,
    address: Address,
    /// Index of the endpoint.
    place: usize,
    member: Member,
    /// Connection driver task; aborted with the connection.
    _driver: JoinSet<()>,
}

/// Version and ids reported by a member.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) version: Version,
    pub(crate) cluster_id: u64,
}

impl Connection {
    /// Connects and requests the member's status, which detects members that accept connections and never answer.
    pub(crate) async fn dial(
        place: usize,
        address: &Address,
        tls: Option<&TlsFiles>,
    ) -> Result<Self, DialError> {
        let stream = TcpStream::connect((address.host.as_str(), address.port)).await?;
        stream.set_nodelay(true)?;
        let (channel, driver) = match tls {
            Some(files) => {
                let connector = TlsConnector::from(Arc::new(tls::config(files).await?));
                let name = ServerName::try_from(address.host.clone());
                let name = name.map_err(|_| DialError::Name(address.host.clone()))?;
                handshake(connector.connect(name, stream).await?).await?
            }
            None => handshake(stream).await?,
        };
        let member = identify(channel.clone(), address).await?;
        let shared = Shared {
            channel,
            address: address.clone(),
            place,
            member,
            _driver: driver,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    pub(crate) fn member(&self) -> Member {
        self.shared.member
    }

    pub(crate) fn url(&self) -> &str {
        &self.shared.address.url
    }

    pub(crate) fn place(&self) -> usize {
        self.shared.place
    }

    pub(crate) fn is_closed(&self) -> bool {
        let channel = &self.shared.channel;
        channel.refuses.load(Ordering::Acquire) || channel.sender.is_closed()
    }

    pub(crate) fn kv(&self) -> KvClient<Channel> {
        KvClient::with_origin(self.channel(), self.shared.address.origin.clone())
            .max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    pub(crate) fn leases(&self) -> LeaseClient<Channel> {
        LeaseClient::with_origin(self.channel(), self.shared.address.origin.clone())
            .max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    pub(crate) fn watches(&self) -> WatchClient<Channel> {
        WatchClient::with_origin(self.channel(), self.shared.address.origin.clone())
            .max_decoding_message_size(ANSWER_BYTES_MAX)
    }

    pub(crate) fn maintenance(&self) -> MaintenanceClient<Channel> {
        MaintenanceClient::with_origin(self.channel(), self.shared.address.origin.clone())
    }

    fn channel(&self) -> Channel {
        self.shared.channel.clone()
    }
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<(Channel, JoinSet<()>), DialError> {
    // Tasks spawned by the executor end with the connection, which the driver owns.
    let (sender, connection) = Builder::new(TokioExecutor::new())
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEPALIVE_INTERVAL)
        .keep_alive_timeout(KEEPALIVE_TIMEOUT)
        .keep_alive_while_idle(false)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .handshake(TokioIo::new(stream))
        .await?;
    let mut driver = JoinSet::new();
    driver.spawn(async move {
        // The error is reported to each request on the connection.
        drop(connection.await);
    });
    let channel = Channel {
        sender,
        refuses: Arc::default(),
    };
    Ok((channel, driver))
}

async fn identify(channel: Channel, address: &Address) -> Result<Member, DialError> {
    let mut client = MaintenanceClient::with_origin(channel, address.origin.clone());
    let status = client.status(StatusRequest {}).await?.into_inner();
    let version = Version::parse(&status.version).ok_or(DialError::NoVersion)?;
    if version < Version::OLDEST {
        return Err(DialError::TooOld { found: version });
    }
    if status.is_learner {
        return Err(DialError::Learner);
    }
    let cluster_id = status.header.map_or(0, |header| header.cluster_id);
    Ok(Member {
        version,
        cluster_id,
    })
}

/// A connection as a tonic service.
#[derive(Clone)]
pub(crate) struct Channel {
    sender: SendRequest<Body>,
    /// True once the connection rejected a request.
    refuses: Arc<AtomicBool>,
}

/// A transport error, and whether the member may have received the request.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) is_sent: bool,
    reason: hyper::Error,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use std::error::Error;
        write!(f, "the connection broke: {}", self.reason)?;
        let mut source = self.reason.source();
        while let Some(cause) = source {
            write!(f, ": {cause}")?;
            source = cause.source();
        }
        Ok(())
    }
}

// No error source: tonic would derive a status code from it.
impl std::error::Error for Broken {}

impl Service<Request<Body>> for Channel {
    type Response = Response<Incoming>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Broken>> + Send>>;

    /// Always ready: `call` reports a closed connection with more detail.
    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let answer = self.sender.try_send_request(request);
        let refuses = self.refuses.clone();
        Box::pin(async move {
            answer.await.map_err(|mut error| {
                let is_sent = error.take_message().is_none();
                refuses.fetch_or(!is_sent, Ordering::AcqRel);
                let reason = error.into_error();
                Broken { is_sent, reason }
            })
        })
    }
}
