//! Formats of host names and network addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

const HOSTNAME_BYTES_MAX: usize = 255;
const LABEL_BYTES_MAX: usize = 63;

/// Labels of letters, digits, dashes and anything beyond ASCII that is a letter, joined by dots.
pub(super) fn is_hostname(text: &str) -> bool {
    let is_label = |label: &str| {
        let end = |character: char| character.is_alphanumeric();
        let middle = |character: char| end(character) || matches!(character, '-' | '_');
        label.len() <= LABEL_BYTES_MAX
            && label.starts_with(end)
            && label.ends_with(end)
            && label.chars().all(middle)
    };
    let text_without_root = text.strip_suffix('.').unwrap_or(text);
    text.len() <= HOSTNAME_BYTES_MAX && text_without_root.split('.').all(is_label)
}

/// Four numbers with dots; leading zeros are allowed, as Kubernetes always allowed them.
pub(super) fn is_ipv4(text: &str) -> bool {
    sloppy_ipv4(text).is_some() || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok())
}

fn sloppy_ipv4(text: &str) -> Option<Ipv4Addr> {
    let parts: Vec<&str> = text.split('.').collect();
    let [a, b, c, d] = parts[..] else {
        return None;
    };
    let number = |part: &str| {
        let plain = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let number = plain
            .then(|| part.trim_start_matches('0'))
            .filter(|digits| digits.len() <= 3)?;
        match number {
            "" => Some(0),
            digits => digits.parse::<u8>().ok(),
        }
    };
    Some(Ipv4Addr::new(
        number(a)?,
        number(b)?,
        number(c)?,
        number(d)?,
    ))
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

/// An address, a slash, and a number of bits.
pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else {
        return false;
    };
    let address = sloppy_ipv4(address)
        .map(IpAddr::V4)
        .or_else(|| address.parse().ok());
    let bits = bits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| bits.parse::<u8>().ok())
        .flatten();
    match (address, bits) {
        (Some(IpAddr::V4(_)), Some(bits)) => bits <= 32,
        (Some(IpAddr::V6(_)), Some(bits)) => bits <= 128,
        _ => false,
    }
}

/// 6, 8 or 20 bytes in pairs with colons or dashes, or in fours with dots.
pub(super) fn is_mac(text: &str) -> bool {
    let (separator, digits) = match text.as_bytes() {
        [_, _, separator @ (b':' | b'-'), ..] => (char::from(*separator), 2),
        [_, _, _, _, b'.', ..] => ('.', 4),
        _ => return false,
    };
    let groups: Vec<&str> = text.split(separator).collect();
    let bytes = groups.len() * digits / 2;
    let is_group =
        |group: &&str| group.len() == digits && group.bytes().all(|byte| byte.is_ascii_hexdigit());
    matches!(bytes, 6 | 8 | 20) && groups.iter().all(is_group)
}
