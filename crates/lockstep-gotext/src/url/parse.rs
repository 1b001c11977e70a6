//! Splitting a URL into its parts.

use super::escape::{Part, escape, unescape};
use super::{Url, UrlError, UrlFault, User};
use crate::ip::{Ip, IpError};

/// Go's entry points: `url.Parse` and `url.ParseRequestURI`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entrance {
    /// `url.ParseRequestURI`
    Request,
    /// `url.Parse`
    Reference,
}

pub(super) fn parse_request_uri(text: &str) -> Result<Url, UrlError> {
    parse(text, Entrance::Request).map_err(|fault| UrlError::new(text, fault))
}

/// An error in front of the fragment shows the text without it.
pub(super) fn parse_reference(text: &str) -> Result<Url, UrlError> {
    let (before, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url =
        parse(before, Entrance::Reference).map_err(|fault| UrlError::new(before, fault))?;
    url.fragment =
        unescape(fragment, Part::Fragment).map_err(|fault| UrlError::new(text, fault))?;
    url.raw_fragment = raw_unless_derived(fragment, &url.fragment, Part::Fragment);
    Ok(url)
}

fn parse(text: &str, entrance: Entrance) -> Result<Url, UrlFault> {
    if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) {
        return Err(UrlFault::ControlCharacter);
    }
    if text.is_empty() && entrance == Entrance::Request {
        return Err(UrlFault::Empty);
    }
    let mut url = Url::default();
    if text == "*" {
        url.path = b"*".to_vec();
        return Ok(url);
    }
    let (scheme, rest) = split_scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = match rest.split_once('?') {
        Some((rest, "")) => {
            url.has_empty_query = true;
            (rest, "")
        }
        Some(split) => split,
        None => (rest, ""),
    };
    query.clone_into(&mut url.raw_query);
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            rest.clone_into(&mut url.opaque);
            return Ok(url);
        }
        check_relative(rest, entrance)?;
    }
    parse_hierarchy(url, rest, entrance)
}

/// Rejects relative references as request URIs, and first segments that look like a scheme.
fn check_relative(rest: &str, entrance: Entrance) -> Result<(), UrlFault> {
    if entrance == Entrance::Request {
        return Err(UrlFault::NotARequestUri);
    }
    let first_segment = rest.split('/').next().unwrap_or_default();
    if first_segment.contains(':') {
        return Err(UrlFault::ColonInFirstSegment);
    }
    Ok(())
}

fn parse_hierarchy(mut url: Url, rest: &str, entrance: Entrance) -> Result<Url, UrlFault> {
    let has_scheme = !url.scheme.is_empty();
    let may_have_authority =
        has_scheme || (entrance == Entrance::Reference && !rest.starts_with("///"));
    let path = match rest.strip_prefix("//") {
        Some(authority) if may_have_authority => {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at(end);
            parse_authority(&mut url, authority)?;
            path
        }
        _ => {
            url.omits_host = has_scheme && rest.starts_with('/');
            rest
        }
    };
    url.path = unescape(path, Part::Path)?;
    url.raw_path = raw_unless_derived(path, &url.path, Part::Path);
    Ok(url)
}

/// The raw text, stored only if escaping the unescaped form would not reproduce it.
fn raw_unless_derived(raw: &str, unescaped: &[u8], part: Part) -> Option<String> {
    (escape(unescaped, part) != raw).then(|| raw.to_owned())
}

/// A scheme and what follows its colon, or no scheme and the whole text.
fn split_scheme(text: &str) -> Result<(&str, &str), UrlFault> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return Err(UrlFault::MissingScheme),
            b':' => return Ok((&text[..at], &text[at + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_authority(url: &mut Url, authority: &str) -> Result<(), UrlFault> {
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    url.host = parse_host(&url.scheme, host)?;
    url.user = user.map(parse_user).transpose()?;
    Ok(())
}

fn parse_user(text: &str) -> Result<User, UrlFault> {
    let is_allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&byte);
    if !text.bytes().all(is_allowed) {
        return Err(UrlFault::UserInfo);
    }
    let (name, password) = match text.split_once(':') {
        Some((name, password)) => (name, Some(password)),
        None => (text, None),
    };
    Ok(User {
        name: unescape(name, Part::UserInfo)?,
        password: password
            .map(|password| unescape(password, Part::UserInfo))
            .transpose()?,
    })
}

fn parse_host(scheme: &str, text: &str) -> Result<Vec<u8>, UrlFault> {
    match text.rfind('[') {
        Some(0) => return parse_bracketed(&text[1..]),
        Some(_) => return Err(UrlFault::IpLiteral),
        None => {}
    }
    // Lists of hosts with ports are tolerated except where they could deceive a browser.
    let port = match scheme {
        "http" | "https" => text.find(':'),
        _ => text.rfind(':'),
    };
    if let Some(colon) = port {
        check_port(&text[colon..])?;
    }
    unescape(text, Part::Host)
}

fn check_port(text: &str) -> Result<(), UrlFault> {
    if is_optional_port(text.as_bytes()) {
        return Ok(());
    }
    Err(UrlFault::Port(text.to_owned()))
}

/// Nothing, or a colon and any number of digits.
pub(super) fn is_optional_port(text: &[u8]) -> bool {
    match text {
        [] => true,
        [b':', digits @ ..] => digits.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// The rest of `[address]` or `[address%25zone]` with its port; the address must be IPv6.
fn parse_bracketed(text: &str) -> Result<Vec<u8>, UrlFault> {
    let (inside, port) = text.rsplit_once(']').ok_or(UrlFault::MissingBracket)?;
    check_port(port)?;
    let address = match inside.find("%25").map(|at| inside.split_at(at)) {
        Some((address, zone)) => {
            [unescape(address, Part::Host)?, unescape(zone, Part::Zone)?].concat()
        }
        None => unescape(inside, Part::Host)?,
    };
    check_address(&String::from_utf8_lossy(&address))?;
    Ok([b"[", &*address, b"]", port.as_bytes()].concat())
}

fn check_address(text: &str) -> Result<(), UrlFault> {
    match Ip::parse(text) {
        Ok(address) if address.family() == 4 => Err(UrlFault::IpLiteral),
        Err(IpError::Malformed(text)) => Err(UrlFault::Host(text)),
        // A zone and an IPv4-mapped address are welcome here.
        Ok(_) | Err(IpError::Zone(_) | IpError::Mapped(_)) => Ok(()),
    }
}
