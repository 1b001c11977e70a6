//! What went wrong with a call.

use std::time::Duration;

use super::{ConfigError, Unresolved};

/// A call that brought no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// It could not be made.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It was made.
    #[error("Post {url:?}: {problem}")]
    Call {
        /// The address.
        url: String,
        /// What went wrong.
        #[source]
        problem: Problem,
    },
}

/// What went wrong on the way to an answer.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// Nobody knows the name.
    #[error("lookup {host}: {error}")]
    Lookup {
        /// The name.
        host: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Nobody knows the name, which is that of a Service.
    #[error(
        "lookup {host}: {error}; this server does not run Services: give the webhook a `url`, or make \
         the name {host} known to the system"
    )]
    Service {
        /// The name.
        host: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// A Service leads nowhere.
    #[error(transparent)]
    Unresolved(#[from] Unresolved),
    /// Nobody listens there.
    #[error("dial tcp {address}: {}", dialled(error))]
    Connect {
        /// The address.
        address: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// No trust, or no TLS at all.
    #[error("tls: {0}")]
    Tls(std::io::Error),
    /// Who answers is not trusted.
    #[error(
        "tls: failed to verify certificate: {}; the caBundle must hold the certificate of its \
         authority, or the certificate itself",
        doubt(.0)
    )]
    Untrusted(rustls::CertificateError),
    /// The connection broke, or what came is not HTTP.
    #[error("{0}")]
    Http(hyper::Error),
    /// The answer did not come in time.
    #[error("context deadline exceeded: no answer within {}s", .0.as_secs())]
    Timeout(Duration),
    /// The answer is that it is elsewhere.
    #[error("the webhook answered {0}, and redirects are not followed")]
    Redirect(http::StatusCode),
    /// The answer is an error.
    #[error("the webhook answered {code}: {text:?}")]
    Refused {
        /// The status.
        code: http::StatusCode,
        /// How its body begins.
        text: String,
    },
    /// The answer is nothing.
    #[error("0-length response with status code: {code} and content type: {content_type}")]
    Empty {
        /// The status.
        code: u16,
        /// What it is said to be.
        content_type: String,
    },
    /// The answer does not end soon enough.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
}

/// Why nobody could be reached, in the words of Go where tools look for them.
fn dialled(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        _ => error.to_string(),
    }
}

/// Why somebody is not trusted, in the words of Go where tools look for them.
fn doubt(error: &rustls::CertificateError) -> String {
    use rustls::CertificateError::{Expired, ExpiredContext, UnknownIssuer};
    match error {
        UnknownIssuer => "x509: certificate signed by unknown authority".to_owned(),
        Expired | ExpiredContext { .. } => {
            "x509: certificate has expired or is not yet valid".to_owned()
        }
        other => other.to_string(),
    }
}
