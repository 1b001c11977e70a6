//! Connections: accept loop, TLS, HTTP/1.1 and HTTP/2, graceful shutdown.

mod connection;
mod plain;
mod stall;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

pub use tls::TlsVersion;
pub(crate) use tls::server_config;

use crate::limits::{ACCEPT_PAUSE, CONNECTIONS_MAX};
use crate::state::Server;

/// Listens on an address; port 0 takes a free one.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Accepts connections until the server closes, and serves each in a task of `tasks`.
pub(crate) async fn accept(
    server: Arc<Server>,
    listener: TcpListener,
    acceptor: TlsAcceptor,
    tasks: &TaskTracker,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            () = server.drain.closing.cancelled() => return,
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (server, acceptor, inner) =
                    (Arc::clone(&server), acceptor.clone(), tasks.clone());
                tasks.spawn(async move {
                    let _place = place;
                    connection::serve(server, acceptor, stream, peer, inner).await;
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Disables Nagle's algorithm, so that small responses are sent at once.
fn prepare(stream: &TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
    }
}
