//! Protection against cross-site requests and DNS rebinding.
//!
//! A foreign page can send a browser here by a link, or by a host name that resolves to this machine. Both are
//! visible in `Host`, `Origin` and `Sec-Fetch-Site`.

use std::net::SocketAddr;

/// Reasons to reject a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rejected {
    /// `Host` is not the dashboard's.
    Host,
    /// The request comes from a foreign page.
    Origin,
}

/// Origin headers of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct OriginHeaders<'a> {
    pub(crate) host: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) fetch_site: Option<&'a str>,
}

/// Checks a request to a listener.
pub(crate) fn check(listener: SocketAddr, headers: OriginHeaders<'_>) -> Result<(), Rejected> {
    let port = listener.port();
    let names = [
        listener.to_string(),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ];
    let is_own = |host: &str| names.iter().any(|name| name.eq_ignore_ascii_case(host));
    if !headers.host.is_some_and(is_own) {
        return Err(Rejected::Host);
    }
    let is_own_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
    if headers.origin.is_some_and(|origin| !is_own_origin(origin)) {
        return Err(Rejected::Origin);
    }
    match headers.fetch_site {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(Rejected::Origin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ux.md §8.2 U8: `Host` and `Origin` are checked.
    #[test]
    fn pages_of_others_and_names_of_others_are_refused() {
        let listener = "127.0.0.1:6480".parse().unwrap();
        for (host, origin, fetch_site, expected) in [
            (Some("127.0.0.1:6480"), None, None, Ok(())),
            (Some("LOCALHOST:6480"), None, Some("none"), Ok(())),
            (
                Some("[::1]:6480"),
                Some("http://[::1]:6480"),
                Some("same-origin"),
                Ok(()),
            ),
            (None, None, None, Err(Rejected::Host)),
            (Some("127.0.0.1"), None, None, Err(Rejected::Host)),
            (Some("127.0.0.1:6481"), None, None, Err(Rejected::Host)),
            (Some("evil.example:6480"), None, None, Err(Rejected::Host)),
            (
                Some("127.0.0.1:6480"),
                Some("http://evil.example:6480"),
                None,
                Err(Rejected::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                Some("https://127.0.0.1:6480"),
                None,
                Err(Rejected::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                Some("null"),
                None,
                Err(Rejected::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                None,
                Some("cross-site"),
                Err(Rejected::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                None,
                Some("same-site"),
                Err(Rejected::Origin),
            ),
        ] {
            let headers = OriginHeaders {
                host,
                origin,
                fetch_site,
            };
            assert_eq!(check(listener, headers), expected, "{headers:?}");
        }
    }
}
