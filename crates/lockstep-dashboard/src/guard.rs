//! Who may ask: pages of the dashboard itself, and nobody who came by another name.
//!
//! A page of somebody else can lead a browser here, by a link or by a name that it lets point at this
//! machine. Both show in `Host`, `Origin` and `Sec-Fetch-Site`.

use std::net::SocketAddr;

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refused {
    /// It came for another host.
    Host,
    /// A page of somebody else sent it.
    Origin,
}

/// What a request says about where it comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) host: Option<&'a str>,
    pub(crate) origin: Option<&'a str>,
    pub(crate) fetch_site: Option<&'a str>,
}

/// Judges a request to a listener.
pub(crate) fn check(listener: SocketAddr, asked: Asked<'_>) -> Result<(), Refused> {
    let port = listener.port();
    let names = [
        listener.to_string(),
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("[::1]:{port}"),
    ];
    let is_own = |host: &str| names.iter().any(|name| name.eq_ignore_ascii_case(host));
    if !asked.host.is_some_and(is_own) {
        return Err(Refused::Host);
    }
    let is_own_origin = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
    if asked.origin.is_some_and(|origin| !is_own_origin(origin)) {
        return Err(Refused::Origin);
    }
    match asked.fetch_site {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(Refused::Origin),
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
            (None, None, None, Err(Refused::Host)),
            (Some("127.0.0.1"), None, None, Err(Refused::Host)),
            (Some("127.0.0.1:6481"), None, None, Err(Refused::Host)),
            (Some("evil.example:6480"), None, None, Err(Refused::Host)),
            (
                Some("127.0.0.1:6480"),
                Some("http://evil.example:6480"),
                None,
                Err(Refused::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                Some("https://127.0.0.1:6480"),
                None,
                Err(Refused::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                Some("null"),
                None,
                Err(Refused::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                None,
                Some("cross-site"),
                Err(Refused::Origin),
            ),
            (
                Some("127.0.0.1:6480"),
                None,
                Some("same-site"),
                Err(Refused::Origin),
            ),
        ] {
            let asked = Asked {
                host,
                origin,
                fetch_site,
            };
            assert_eq!(check(listener, asked), expected, "{asked:?}");
        }
    }
}
