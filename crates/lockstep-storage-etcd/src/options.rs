//! What a person says about the etcd cluster to use.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;

/// Where etcd is and how to talk to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// Client URLs of members of one cluster, `http://HOST:PORT` or `https://HOST:PORT`. The first
    /// is preferred at the start; the others are used when one fails.
    pub endpoints: Vec<String>,
    /// How members are trusted, and who we are to them. Needed for `https`.
    pub tls: Option<TlsFiles>,
    /// How long to wait.
    pub timeouts: Timeouts,
}

impl Options {
    /// Plain connections and the usual timeouts.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            tls: None,
            timeouts: Timeouts::default(),
        }
    }
}

/// PEM files. They are read for each connection anew, so that certificates can be replaced while
/// the program runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The authorities that may sign for a member.
    pub authorities: PathBuf,
    /// Who we are.
    pub identity: Option<IdentityFiles>,
}

/// A client certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityFiles {
    /// The certificate, with what stands between it and its authority.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// How long to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timeouts {
    /// For a connection: until a member has told who it is.
    pub connect: Duration,
    /// For the answer to a request, other members that had to be tried included. More than the
    /// seven seconds after which etcd itself gives up, so that etcd's own word comes first.
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

/// What is wrong with the options.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum OptionsError {
    /// Nowhere to go.
    #[error("no endpoint of etcd is given")]
    NoEndpoint,
    /// Not a client URL.
    #[error("`{endpoint}` is no endpoint of etcd: write `http://HOST:PORT` or `https://HOST:PORT`")]
    BadEndpoint {
        /// As it was given.
        endpoint: String,
    },
    /// Nobody would be trusted.
    #[error("`{endpoint}` needs the file of the authorities that etcd's certificate comes from")]
    NoAuthorities {
        /// As it was given.
        endpoint: String,
    },
    /// The files would silently have no effect.
    #[error("`{endpoint}` is not encrypted, though certificates are given: write `https://`")]
    NotEncrypted {
        /// As it was given.
        endpoint: String,
    },
}

/// One member's client URL, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// As it was given.
    pub(crate) url: String,
    pub(crate) origin: Uri,
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// The members to use.
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
    // An IPv6 address stands in brackets in a URL and nowhere else.
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
