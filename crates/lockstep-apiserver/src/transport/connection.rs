//! A connection from its TLS handshake to its end.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use lockstep_gather::{Driven, Ended, gather};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, server::TlsStream};
use tokio_util::task::TaskTracker;

use super::plain::is_plain_http;
use super::prepare;
use super::stall::StallGuard;
use crate::authn::ClientChain;
use crate::frame::{self, Connection};
use crate::limits::{
    CONNECTION_WINDOW_BYTES, HANDSHAKE_MAX, HEADER_BYTES_MAX, HEADER_READ_MAX, HEADERS_MAX,
    PING_INTERVAL, PING_MAX, RESET_STREAMS_MAX, STREAM_SEND_BYTES_MAX, STREAM_WINDOW_BYTES,
};
use crate::request::ConnectionBudget;
use crate::state::Server;

/// Serves a connection until it ends. Errors affect only this client and are logged here.
pub(super) async fn serve(
    server: Arc<Server>,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    tasks: TaskTracker,
) {
    prepare(&stream);
    let Some(stream) = handshake(&server, &acceptor, stream, peer).await else {
        return;
    };
    let (_, session) = stream.get_ref();
    let certificates = session.peer_certificates().unwrap_or_default();
    let connection = Arc::new(Connection {
        peer,
        chain: ClientChain::new(
            certificates
                .iter()
                .map(|one| one.clone().into_owned())
                .collect(),
        ),
        bodies: ConnectionBudget::default(),
    });
    let ended = if session.alpn_protocol() == Some(b"h2") {
        serve_http2(&server, connection, stream, tasks).await
    } else {
        let ended = serve_http1(&server, connection, stream).await;
        ended.map_err(Ended::Protocol)
    };
    if let Err(error) = ended {
        tracing::debug!(%peer, error = %WithSource(&error), "connection ended");
    }
}

async fn handshake(
    server: &Server,
    acceptor: &TlsAcceptor,
    mut stream: TcpStream,
    peer: SocketAddr,
) -> Option<TlsStream<TcpStream>> {
    let handshake = async {
        if is_plain_http(&mut stream).await {
            return None;
        }
        match acceptor.accept(stream).into_fallible().await {
            Ok(stream) => Some(stream),
            // The connection is closed after the log line, so that a client that saw the end finds the reason there.
            Err((error, _stream)) => {
                server.metrics.handshake_errors.inc();
                // Other errors are of the connection: clients that leave, and probes of the port.
                if error.kind() == ErrorKind::InvalidData {
                    tracing::warn!(%peer, %error, "TLS handshake refused");
                } else {
                    tracing::debug!(%peer, %error, "TLS handshake failed");
                }
                None
            }
        }
    };
    tokio::select! {
        () = server.drain.closing.cancelled() => None,
        outcome = tokio::time::timeout(HANDSHAKE_MAX, handshake) => outcome.ok().flatten(),
    }
}

async fn serve_http2(
    server: &Arc<Server>,
    connection: Arc<Connection>,
    stream: TlsStream<TcpStream>,
    tasks: TaskTracker,
) -> Result<(), Ended<hyper::Error>> {
    let streams = Arc::new(AtomicUsize::new(0));
    let mut builder = http2::Builder::new(Tracked {
        tasks,
        streams: Arc::clone(&streams),
    });
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(server.limits.http2_streams_max)
        .max_header_list_size(HEADER_BYTES_MAX)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_send_buf_size(STREAM_SEND_BYTES_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_MAX);
    let (stream, outgoing) = gather(StallGuard::new(stream));
    let is_shared = || streams.load(Ordering::Relaxed) > 1;
    let service = service_fn(|request| {
        let (server, connection) = (Arc::clone(server), Arc::clone(&connection));
        // Boxed because the future is large and would be moved before it runs.
        Box::pin(
            async move { Ok::<_, Infallible>(frame::answer(&server, &connection, request).await) },
        )
    });
    let mut running = pin!(builder.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = Driven::new(running.as_mut(), &outgoing, &is_shared) => return ended,
        () = server.drain.closing.cancelled() => {}
    }
    running.as_mut().graceful_shutdown();
    Driven::new(running, &outgoing, &is_shared).await
}

async fn serve_http1(
    server: &Arc<Server>,
    connection: Arc<Connection>,
    stream: TlsStream<TcpStream>,
) -> hyper::Result<()> {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX as usize);
    let io = TokioIo::new(StallGuard::new(stream));
    let service = service_fn(|request| {
        let (server, connection) = (Arc::clone(server), Arc::clone(&connection));
        async move { Ok::<_, Infallible>(frame::answer(&server, &connection, request).await) }
    });
    let mut running = pin!(builder.serve_connection(io, service));
    tokio::select! {
        ended = running.as_mut() => ended,
        () = server.drain.closing.cancelled() => {
            running.as_mut().graceful_shutdown();
            running.await
        }
    }
}

/// Executor that tracks and counts HTTP/2 streams, so that shutdown waits for them.
#[derive(Clone)]
struct Tracked {
    tasks: TaskTracker,
    streams: Arc<AtomicUsize>,
}

/// Decrements the stream count on drop.
struct Stream(Arc<AtomicUsize>);

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.streams.fetch_add(1, Ordering::Relaxed);
        let stream = Stream(Arc::clone(&self.streams));
        self.tasks.spawn(async move {
            let _stream = stream;
            future.await
        });
    }
}

/// Displays an error with its sources on one line.
struct WithSource<'a>(&'a (dyn std::error::Error + 'static));

impl std::fmt::Display for WithSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}
