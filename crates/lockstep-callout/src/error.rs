//! Errors of calls.

use std::time::Duration;

use crate::ConfigError;

/// Errors of a call.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The configuration names no usable endpoint.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The endpoint could not be reached or did not answer as expected.
    #[error("Post {url:?}: {problem}")]
    Call {
        /// The address.
        url: String,
        /// The cause.
        #[source]
        problem: Problem,
    },
}

/// Causes of a failed call.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The host name does not resolve.
    #[error("lookup {host}: {error}")]
    Lookup {
        /// The name.
        host: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The DNS name of a Service does not resolve.
    #[error(
        "lookup {host}: {error}; this server does not run Services: give the webhook a `url`, or make \
         the name {host} known to the system"
    )]
    Service {
        /// The name.
        host: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// A Service has no place to connect to.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// The TCP connection failed.
    #[error("dial tcp {address}: {}", dialled(error))]
    Connect {
        /// The address.
        address: String,
        /// Error of the operating system.
        error: std::io::Error,
    },
    /// The TLS handshake failed for another reason than the certificate.
    #[error("tls: {0}")]
    Tls(std::io::Error),
    /// The certificate of the server is not trusted.
    #[error(
        "tls: failed to verify certificate: {}; the caBundle must hold the certificate of its \
         authority, or the certificate itself",
        distrust(.0)
    )]
    Untrusted(rustls::CertificateError),
    /// The connection broke, or the response is not HTTP.
    #[error("{0}")]
    Http(hyper::Error),
    /// The response did not arrive in time.
    #[error("context deadline exceeded: no answer within {}s", .0.as_secs())]
    Timeout(Duration),
    /// The response is a redirect.
    #[error("the webhook answered {0}, and redirects are not followed")]
    Redirect(http::StatusCode),
    /// The response has an error status.
    #[error("the webhook answered {code}: {text:?}")]
    Refused {
        /// The status.
        code: http::StatusCode,
        /// Start of the body.
        text: String,
    },
    /// The response body is empty.
    #[error("0-length response with status code: {code} and content type: {content_type}")]
    Empty {
        /// The status.
        code: u16,
        /// The `Content-Type` header.
        content_type: String,
    },
    /// The response body exceeds the limit.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

/// Errors of Services, with the messages of upstream's service resolver.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unresolved {
    /// The Service does not exist.
    #[error("service {0:?} not found")]
    Service(String),
    /// The Service has no such port.
    #[error("no service port {port} found for service {name:?}")]
    Port {
        /// Name of the Service.
        name: String,
        /// The requested port.
        port: u16,
    },
    /// The Service has neither ready endpoints nor a cluster IP.
    #[error("no endpoints available for service {0:?}")]
    Endpoints(String),
}

/// Text of a failed TCP connection, with Go's wording where tools match it.
fn dialled(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        _ => error.to_string(),
    }
}

/// Text of an untrusted certificate, with Go's wording where tools match it.
fn distrust(error: &rustls::CertificateError) -> String {
    use rustls::CertificateError::{Expired, ExpiredContext, UnknownIssuer};
    match error {
        UnknownIssuer => "x509: certificate signed by unknown authority".to_owned(),
        Expired | ExpiredContext { .. } => {
            "x509: certificate has expired or is not yet valid".to_owned()
        }
        other => other.to_string(),
    }
}
