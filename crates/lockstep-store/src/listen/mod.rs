//! Connections: accept, TLS handshake, serving and shutdown.

mod address;
mod compat;
mod frames;
mod keepalive;
mod pings;
mod tls;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use lockstep_gather::{Driven, gather};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use address::Place;
pub use address::{Address, InvalidAddress};
use compat::RewrittenAuthority;
use keepalive::EnforcedKeepalive;
pub(crate) use tls::Tls;

use crate::dispatch::{Dispatch, Serves};
use crate::member::Member;
use crate::workers::RoundRobin;

/// Timeout of the TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Delay after a failed accept, for example when file descriptors are exhausted.
const REFUSED_PAUSE: Duration = Duration::from_millis(50);
/// Initial HTTP/2 window of a stream; holds the largest request.
const STREAM_WINDOW_BYTES: u32 = 2 << 20;
/// HTTP/2 window of a connection.
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;
/// Maximum frame size for responses.
const FRAME_BYTES: u32 = 64 << 10;

/// A bound socket.
pub(crate) struct Listener {
    socket: Socket,
    tls: Option<Arc<Tls>>,
    serves: Serves,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub(crate) async fn bind(
        address: &Address,
        tls: Option<Arc<Tls>>,
        serves: Serves,
    ) -> io::Result<Self> {
        let socket = match &address.place {
            Place::Tcp(authority) => Socket::Tcp(TcpListener::bind(authority).await?),
            Place::Unix(path) => {
                // A socket file left by a killed process would make the bind fail.
                match std::fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
                Socket::Unix(UnixListener::bind(path)?)
            }
        };
        let tls = tls.filter(|_| address.tls);
        Ok(Self {
            socket,
            tls,
            serves,
        })
    }

    /// The bound port, for port 0.
    pub(crate) fn port(&self) -> Option<u16> {
        match &self.socket {
            Socket::Tcp(listener) => listener.local_addr().ok().map(|at| at.port()),
            Socket::Unix(_) => None,
        }
    }

    /// Accepts connections until shutdown and distributes them to worker threads.
    pub(crate) async fn accept_all(self, stopping: CancellationToken, mut round_robin: RoundRobin) {
        while let Some(accepted) = stopping.run_until_cancelled(self.accept()).await {
            match accepted {
                Ok(stream) => {
                    let accepted = Accepted {
                        stream,
                        tls: self.tls.clone(),
                        serves: self.serves,
                    };
                    round_robin.give(accepted).await;
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(REFUSED_PAUSE).await;
                }
            }
        }
    }

    async fn accept(&self) -> io::Result<Stream> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                prepare(&stream);
                Ok(Stream::Tcp(stream.into_std()?))
            }
            Socket::Unix(listener) => Ok(Stream::Unix(listener.accept().await?.0.into_std()?)),
        }
    }
}

/// An accepted connection for a worker thread.
pub(crate) struct Accepted {
    stream: Stream,
    tls: Option<Arc<Tls>>,
    serves: Serves,
}

/// An accepted socket not registered with a runtime.
enum Stream {
    Tcp(std::net::TcpStream),
    Unix(std::os::unix::net::UnixStream),
}

impl Stream {
    /// Registers the socket with this thread's runtime.
    fn register(self) -> io::Result<Connection> {
        Ok(match self {
            Self::Tcp(stream) => Box::new(TcpStream::from_std(stream)?),
            Self::Unix(stream) => Box::new(UnixStream::from_std(stream)?),
        })
    }
}

fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "the connection ended early");
    }
}

/// A bidirectional byte stream.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

type Connection = Box<dyn Duplex>;

/// State shared by all connections.
#[derive(Clone)]
pub(crate) struct Connections {
    pub(crate) member: Arc<Member>,
    pub(crate) dispatch: Dispatch,
    /// All connection tasks; shutdown waits for them.
    pub(crate) tasks: TaskTracker,
}

impl Connections {
    /// Serves a connection on this thread until it is closed.
    pub(crate) async fn serve(self, accepted: Accepted) {
        let Accepted {
            stream,
            tls,
            serves,
        } = accepted;
        let connection = match stream.register() {
            Ok(connection) => connection,
            Err(error) => return tracing::warn!(%error, "a connection could not be taken"),
        };
        let connection = match tls {
            None => connection,
            Some(tls) => {
                let handshake = TlsAcceptor::from(tls.config()).accept(connection);
                match tokio::time::timeout(HANDSHAKE_TIMEOUT, handshake).await {
                    Ok(Ok(encrypted)) => Box::new(encrypted),
                    Ok(Err(error)) => return tracing::warn!(%error, "rejected connection"),
                    Err(_) => {
                        return tracing::warn!("rejected connection: the handshake took too long");
                    }
                }
            }
        };
        self.talk(connection, serves).await;
    }

    async fn talk(self, connection: Connection, serves: Serves) {
        let running = Arc::new(AtomicUsize::new(0));
        let is_shared = || running.load(Ordering::Relaxed) > 1;
        let builder = self.builder(&running);
        let dispatch = self.dispatch.clone();
        let service = service_fn(move |request| dispatch.answer(request, serves));
        let (connection, outgoing) = gather(connection);
        let connection =
            EnforcedKeepalive::new(connection, self.member.config.keepalive_interval_min);
        let talking =
            builder.serve_connection(TokioIo::new(RewrittenAuthority::new(connection)), service);
        tokio::pin!(talking);
        let stopping = self.member.stopping.token();
        let ended = tokio::select! {
            ended = Driven::new(talking.as_mut(), &outgoing, &is_shared) => ended,
            () = stopping.cancelled() => {
                talking.as_mut().graceful_shutdown();
                Driven::new(talking, &outgoing, &is_shared).await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        }
    }

    fn builder(&self, running: &Arc<AtomicUsize>) -> auto::Builder<Tracked> {
        let config = &self.member.config;
        let mut builder = auto::Builder::new(Tracked {
            tasks: self.tasks.clone(),
            running: Arc::clone(running),
        });
        builder
            .http2()
            .timer(TokioTimer::new())
            .max_concurrent_streams(config.streams_max)
            .initial_stream_window_size(STREAM_WINDOW_BYTES)
            .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
            .max_frame_size(FRAME_BYTES)
            .keep_alive_interval(config.keepalive_interval)
            .keep_alive_timeout(config.keepalive_timeout);
        builder.http1().timer(TokioTimer::new());
        builder
    }
}

/// Executor that tracks and counts a connection's requests.
#[derive(Clone)]
struct Tracked {
    tasks: TaskTracker,
    running: Arc<AtomicUsize>,
}

/// Counts a running request until it is dropped.
struct Running(Arc<AtomicUsize>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, request: F) {
        self.running.fetch_add(1, Ordering::Relaxed);
        let running = Running(Arc::clone(&self.running));
        self.tasks.spawn(async move {
            let _running = running;
            request.await;
        });
    }
}
