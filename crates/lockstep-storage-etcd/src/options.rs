//! Connection options of the etcd cluster.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;

/// Connection options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Client URLs of members of one cluster, `http://HOST:PORT` or `https://HOST:PORT`. The first is tried first;
    /// the others are used for failover.
    pub endpoints: Vec<String>,
    /// CA bundle and client certificate. Required for `https`.
    pub tls: Option<TlsFiles>,
    /// Timeouts.
    pub timeouts: Timeouts,
}

impl Options {
    /// Options for plain connections with default timeouts.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            tls: None,
            timeouts: Timeouts::default(),
        }
    }
}

/// PEM files, read for each new connection, so that certificates can be rotated without a restart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// CA bundle that verifies members.
    pub authorities: PathBuf,
    /// Client certificate.
    pub identity: Option<IdentityFiles>,
}

/// A client certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityFiles {
    /// Certificate chain.
    pub certificate: PathBuf,
    /// Private key.
    pub key: PathBuf,
}

/// Timeouts of the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// Timeout of establishing a connection, including the member's status.
    pub connect: Duration,
    /// Timeout of a request, including retries on other members. Longer than etcd's own timeout of seven seconds,
    /// so that etcd's error is returned first.
    pub request: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            request: Duration::from_secs(10),
        }
    }
}

/// Errors of the options.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OptionsError {
    /// The list of endpoints is empty.
    #[error("no endpoint of etcd is given")]
    NoEndpoint,
    /// The endpoint is not a client URL.
    #[error("`{endpoint}` is no endpoint of etcd: write `http://HOST:PORT` or `https://HOST:PORT`")]
    BadEndpoint {
        /// The endpoint.
        endpoint: String,
    },
    /// An `https` endpoint without a CA bundle.
    #[error("`{endpoint}` needs the file of the authorities that etcd's certificate comes from")]
    NoAuthorities {
        /// The endpoint.
        endpoint: String,
    },
    /// TLS files with an `http` endpoint, where they would have no effect.
    #[error("`{endpoint}` is not encrypted, though certificates are given: write `https://`")]
    NotEncrypted {
        /// The endpoint.
        endpoint: String,
    },
}

/// Parsed client URL of a member.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The original URL.
    pub(crate) url: String,
    pub(crate) origin: Uri,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Parses the endpoints.
pub(crate) fn addresses(options: &Options) -> Result<Vec<Address>, OptionsError> {
    if options.endpoints.is_empty() {
        return Err(OptionsError::NoEndpoint);
    }
    let address = |url: &String| address(url, options.tls.is_some());
    options.endpoints.iter().map(address).collect()
}

fn address(url: &str, has_tls: bool) -> Result<Address, OptionsError> {
    let endpoint = url.to_owned();
    let Some((origin, host, port)) = parts(url) else {
        return Err(OptionsError::BadEndpoint { endpoint });
    };
    match (origin.scheme() == Some(&Scheme::HTTPS), has_tls) {
        (true, false) => Err(OptionsError::NoAuthorities { endpoint }),
        (false, true) => Err(OptionsError::NotEncrypted { endpoint }),
        (true, true) | (false, false) => Ok(Address {
            url: endpoint,
            origin,
            host,
            port,
        }),
    }
}

fn parts(url: &str) -> Option<(Uri, String, u16)> {
    let origin: Uri = url.parse().ok()?;
    let is_known = [Scheme::HTTP, Scheme::HTTPS].contains(origin.scheme()?);
    let is_bare = matches!(origin.path(), "" | "/") && origin.query().is_none();
    let has_user = origin.authority()?.as_str().contains('@');
    // An IPv6 address has brackets only inside a URL.
    let host = origin.host()?.trim_matches(['[', ']']).to_owned();
    if !is_known || !is_bare || has_user || host.is_empty() {
        return None;
    }
    let port = origin.port_u16()?;
    Some((origin, host, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, has_tls: bool) -> Result<(String, u16), OptionsError> {
        address(url, has_tls).map(|address| (address.host, address.port))
    }

    #[test]
    fn an_endpoint_is_a_scheme_a_host_and_a_port() {
        let host = |host: &str| Ok((host.to_owned(), 2379));
        assert_eq!(check("http://10.0.0.1:2379", false), host("10.0.0.1"));
        assert_eq!(check("http://[::1]:2379/", false), host("::1"));
        assert_eq!(
            check("https://etcd.example:2379", true),
            host("etcd.example")
        );
        for url in [
            "",
            "10.0.0.1:2379",
            "http://10.0.0.1",
            "http://10.0.0.1:99999",
            "http://10.0.0.1:2379/prefix",
            "http://user:secret@10.0.0.1:2379",
            "unix://10.0.0.1:2379",
            "http://:2379",
        ] {
            let endpoint = url.to_owned();
            let bad = Err(OptionsError::BadEndpoint { endpoint });
            assert_eq!(check(url, false), bad, "{url}");
        }
    }

    #[test]
    fn encryption_and_certificates_come_together() {
        let endpoint = "https://a:2379".to_owned();
        let refused = check(&endpoint, false);
        assert_eq!(refused, Err(OptionsError::NoAuthorities { endpoint }));
        let endpoint = "http://a:2379".to_owned();
        let refused = check(&endpoint, true);
        assert_eq!(refused, Err(OptionsError::NotEncrypted { endpoint }));
    }

    #[test]
    fn no_endpoint_is_no_cluster() {
        let none = addresses(&Options::new([""; 0]));
        assert_eq!(none.map(|list| list.len()), Err(OptionsError::NoEndpoint));
    }
}
