//! Connecting to one HTTPS server.

use std::io;
use std::sync::Arc;

use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::Connection;

/// An HTTPS server, and the TLS configuration for it.
pub struct Server {
    /// Host name or address without brackets, as the certificate names it.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// Trust anchors and client certificate.
    pub tls: Arc<rustls::ClientConfig>,
}

/// Errors of connecting, each with the message of its cause.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host is neither a DNS name nor an IP address.
    #[error(transparent)]
    Host(#[from] InvalidDnsNameError),
    /// The host is unknown or refused the TCP connection.
    #[error(transparent)]
    Tcp(io::Error),
    /// The TLS handshake failed.
    #[error(transparent)]
    Tls(io::Error),
    /// The HTTP connection could not be set up.
    #[error(transparent)]
    Http(hyper::Error),
}

impl Server {
    /// Opens a new connection. The caller bounds the time.
    pub async fn connect(&self) -> Result<Connection, ConnectError> {
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let stream = stream.map_err(ConnectError::Tcp)?;
        let name = ServerName::try_from(self.host.clone())?;
        handshake(&TlsConnector::from(Arc::clone(&self.tls)), name, stream).await
    }

    /// The `Host` header.
    pub fn authority(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// Runs the handshakes of TLS and HTTP on a TCP connection.
pub(crate) async fn handshake(
    tls: &TlsConnector,
    name: ServerName<'static>,
    stream: TcpStream,
) -> Result<Connection, ConnectError> {
    // Requests are small and their responses awaited, so Nagle's algorithm only adds latency. A failure is harmless.
    let _best_effort = stream.set_nodelay(true);
    let stream = tls.connect(name, stream).await.map_err(ConnectError::Tls)?;
    Connection::open(stream).await.map_err(ConnectError::Http)
}
