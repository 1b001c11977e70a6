//! URLs by Go's rules, which are not the browser's: nothing is normalised, an absolute path is enough, and what looks
//! odd is kept as written.

mod escape;
mod parse;

use std::collections::BTreeMap;
use std::fmt;

use crate::print::quote;
use escape::Part;

/// A URL as CEL's `url()` yields it. Equality is that of the printed form.
#[derive(Clone, Debug, Default)]
pub struct Url {
    scheme: String,
    /// Opaque part, which follows the scheme when no slash does: `mailto:this`.
    opaque: String,
    user: Option<User>,
    host: Vec<u8>,
    /// Unescaped.
    path: Vec<u8>,
    /// The path as written, when it does not follow from the unescaped one.
    raw_path: Option<String>,
    /// Written as `scheme:/path`, without the slashes of an authority.
    omits_host: bool,
    /// Ends with a `?` and no query.
    has_empty_query: bool,
    raw_query: String,
    fragment: Vec<u8>,
    raw_fragment: Option<String>,
}

#[derive(Clone, Debug)]
struct User {
    name: Vec<u8>,
    password: Option<Vec<u8>>,
}

/// Why text is not a URL, as Go says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parse {}: {fault}", quote(.text))]
pub struct UrlError {
    text: String,
    fault: UrlFault,
}

impl UrlError {
    fn new(text: &str, fault: UrlFault) -> Self {
        Self {
            text: text.to_owned(),
            fault,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum UrlFault {
    #[error("empty url")]
    Empty,
    #[error("net/url: invalid control character in URL")]
    ControlCharacter,
    #[error("missing protocol scheme")]
    MissingScheme,
    #[error("invalid URI for request")]
    NotARequestUri,
    #[error("first path segment in URL cannot contain colon")]
    ColonInFirstSegment,
    #[error("net/url: invalid userinfo")]
    UserInfo,
    #[error("missing ']' in host")]
    MissingBracket,
    #[error("invalid port {} after host", quote(.0))]
    Port(String),
    #[error("invalid host: ParseAddr({}): unable to parse IP", quote(.0))]
    Host(String),
    #[error("invalid IP-literal")]
    IpLiteral,
    #[error("invalid URL escape {}", quote(.0))]
    Escape(String),
    #[error("invalid character {} in host name", quote(.0))]
    HostCharacter(String),
}

/// The error of CEL's `url()`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("URL parse error during conversion from string: {0}")]
pub struct UrlConversionError(UrlError);

/// Reads an absolute URI or an absolute path, as in the first line of an HTTP request: `#` has no meaning.
///
/// This decides what `isURL` and the `uri` format accept.
pub fn parse_request_uri(text: &str) -> Result<Url, UrlError> {
    parse::parse_request_uri(text)
}

impl Url {
    /// Reads a URL as `url()` does: it must be a request URI, and is then split with its fragment.
    pub fn parse(text: &str) -> Result<Self, UrlConversionError> {
        parse::parse_request_uri(text)
            .and_then(|_| parse::parse_reference(text))
            .map_err(UrlConversionError)
    }

    /// The scheme in lower case, or nothing.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host as written, with its port and brackets.
    pub fn host(&self) -> String {
        lossy(&self.host)
    }

    /// The host without port and brackets.
    pub fn hostname(&self) -> String {
        let (host, _) = self.host_and_port();
        match host
            .strip_prefix(b"[")
            .and_then(|host| host.strip_suffix(b"]"))
        {
            Some(bare) => lossy(bare),
            None => lossy(host),
        }
    }

    /// The port, or nothing.
    pub fn port(&self) -> String {
        lossy(self.host_and_port().1)
    }

    fn host_and_port(&self) -> (&[u8], &[u8]) {
        let colon = self.host.iter().rposition(|&byte| byte == b':');
        match colon.map(|at| self.host.split_at(at)) {
            Some((host, port)) if parse::is_optional_port(port) => (host, &port[1..]),
            _ => (&self.host, b""),
        }
    }

    /// The path as written if that was a valid escaping, else the path in its default escaping.
    pub fn escaped_path(&self) -> String {
        if let Some(raw) = &self.raw_path
            && escape::is_valid(raw, Part::Path)
        {
            return raw.clone();
        }
        if self.path == b"*" {
            return "*".to_owned();
        }
        escape::escape(&self.path, Part::Path)
    }

    /// The query's values by name, in order of appearance. Pairs that are malformed or hold a `;` are dropped.
    pub fn query(&self) -> BTreeMap<String, Vec<String>> {
        let mut values = BTreeMap::<String, Vec<String>>::new();
        for pair in self.raw_query.split('&') {
            if pair.is_empty() || pair.contains(';') {
                continue;
            }
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = escape::unescape(name, Part::Query);
            let value = escape::unescape(value, Part::Query);
            if let (Ok(name), Ok(value)) = (name, value) {
                values.entry(lossy(&name)).or_default().push(lossy(&value));
            }
        }
        values
    }

    fn authority(&self) -> String {
        let user = self.user.as_ref().map_or(String::new(), |user| {
            let name = escape::escape(&user.name, Part::UserInfo);
            match &user.password {
                Some(password) => {
                    format!("{name}:{}@", escape::escape(password, Part::UserInfo))
                }
                None => format!("{name}@"),
            }
        });
        user + &escape::escape(&self.host, Part::Host)
    }

    fn escaped_fragment(&self) -> String {
        match &self.raw_fragment {
            Some(raw) if escape::is_valid(raw, Part::Fragment) => raw.clone(),
            _ => escape::escape(&self.fragment, Part::Fragment),
        }
    }
}

/// CEL strings are UTF-8; escapes may spell other bytes, which are replaced.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text = format!("{}:", self.scheme);
        }
        if self.opaque.is_empty() {
            self.push_hierarchy(&mut text);
        } else {
            text.push_str(&self.opaque);
        }
        if self.has_empty_query || !self.raw_query.is_empty() {
            text = text + "?" + &self.raw_query;
        }
        if !self.fragment.is_empty() {
            text = text + "#" + &self.escaped_fragment();
        }
        out.write_str(&text)
    }
}

impl Url {
    /// Appends the authority, if any, and the path.
    fn push_hierarchy(&self, text: &mut String) {
        let has_authority = !self.host.is_empty() || self.user.is_some();
        let may_have_authority = has_authority || !self.scheme.is_empty();
        let path = self.escaped_path();
        if may_have_authority && (has_authority || !self.omits_host) {
            if has_authority || !path.is_empty() {
                text.push_str("//");
            }
            text.push_str(&self.authority());
        }
        if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
            text.push('/');
        }
        text.push_str(&path);
    }
}

impl PartialEq for Url {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for Url {}
