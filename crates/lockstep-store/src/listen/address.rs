//! Listen addresses as URLs.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A listen address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    pub(super) place: Place,
    pub(super) tls: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// `host:port`.
    Tcp(String),
    Unix(PathBuf),
}

/// The URL is not a valid listen address.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{url}` is no URL to listen at: {what}")]
pub struct InvalidAddress {
    url: String,
    what: &'static str,
}

impl Address {
    /// True if connections use TLS.
    pub fn uses_tls(&self) -> bool {
        self.tls
    }
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(url: &str) -> Result<Self, InvalidAddress> {
        let invalid = |what| InvalidAddress {
            url: url.to_owned(),
            what,
        };
        let parts = url.split_once("://");
        let (scheme, rest) = parts.ok_or_else(|| invalid("it has no scheme such as http://"))?;
        let tls = matches!(scheme, "https" | "unixs");
        let place = match scheme {
            "unix" | "unixs" if rest.is_empty() => return Err(invalid("it has no path")),
            "unix" | "unixs" => Place::Unix(rest.into()),
            "http" | "https" => {
                let authority = rest.strip_suffix('/').unwrap_or(rest);
                if authority.contains('/') {
                    return Err(invalid("it must not have a path"));
                }
                let port = authority.rsplit_once(':').map(|(_, port)| port);
                if port.is_none_or(|port| port.parse::<u16>().is_err()) {
                    return Err(invalid("it needs a port"));
                }
                Place::Tcp(authority.to_owned())
            }
            _ => return Err(invalid("the scheme is not http, https, unix or unixs")),
        };
        Ok(Self { place, tls })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = if self.tls { "s" } else { "" };
        match &self.place {
            Place::Tcp(authority) => write!(f, "http{letter}://{authority}"),
            Place::Unix(path) => write!(f, "unix{letter}://{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_socket_or_say_why_not() {
        let read = |url: &str| {
            let address = url.parse::<Address>();
            address
                .map(|address| address.to_string())
                .map_err(|error| error.what)
        };
        for url in [
            "http://127.0.0.1:2379",
            "https://[::1]:0",
            "unix:///run/s",
            "unixs://a:1",
        ] {
            assert_eq!(read(url), Ok(url.to_owned()));
        }
        assert_eq!(read("http://h:1/"), Ok("http://h:1".to_owned()));
        assert_eq!(read("h:1"), Err("it has no scheme such as http://"));
        assert_eq!(read("http://h"), Err("it needs a port"));
        assert_eq!(read("http://h:99999"), Err("it needs a port"));
        assert_eq!(read("http://h:1/x"), Err("it must not have a path"));
        assert_eq!(read("unix://"), Err("it has no path"));
        assert_eq!(
            read("ftp://h:1"),
            Err("the scheme is not http, https, unix or unixs")
        );
    }
}
