//! Percent-escapes, whose rules depend on the part of the URL.

use super::UrlFault;

/// Where in a URL a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Path,
    Host,
    /// The part of a bracketed host after `%25`.
    Zone,
    UserInfo,
    /// A name or value of the query.
    Query,
    Fragment,
}

impl Part {
    fn is_host(self) -> bool {
        matches!(self, Self::Host | Self::Zone)
    }

    /// True if `byte` must be escaped here.
    fn must_escape(self, byte: u8) -> bool {
        match byte {
            b'-' | b'_' | b'.' | b'~' => false,
            byte if byte.is_ascii_alphanumeric() => false,
            byte if self.is_host() => !b"!$&'()*+,;=:[]<>\"".contains(&byte),
            b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' => match self {
                Self::Path => byte == b'?',
                Self::UserInfo => b"@/?:".contains(&byte),
                Self::Query => true,
                _ => false,
            },
            b'!' | b'(' | b')' | b'*' => self != Self::Fragment,
            _ => true,
        }
    }
}

/// Replaces escapes by the bytes they spell.
pub(super) fn unescape(text: &str, part: Part) -> Result<Vec<u8>, UrlFault> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'%' => {
                out.push(read_escape(&bytes[at..], part)?);
                at += 3;
                continue;
            }
            b'+' if part == Part::Query => out.push(b' '),
            _ if part.is_host() && byte.is_ascii() && part.must_escape(byte) => {
                let character = char::from(byte).to_string();
                return Err(UrlFault::HostCharacter(character));
            }
            _ => out.push(byte),
        }
        at += 1;
    }
    Ok(out)
}

/// The byte spelled by the escape at the start of `text`.
fn read_escape(text: &[u8], part: Part) -> Result<u8, UrlFault> {
    let digit = |at: usize| text.get(at).and_then(|&byte| char::from(byte).to_digit(16));
    let value = match (digit(1), digit(2)) {
        (Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    // In a host, only bytes beyond ASCII are escaped; in a zone, anything a host may hold, and blanks.
    let allowed = value.filter(|&value| match part {
        Part::Host => !value.is_ascii() || value == b'%',
        Part::Zone => value == b'%' || value == b' ' || !Part::Host.must_escape(value),
        _ => true,
    });
    allowed.ok_or_else(|| {
        let shown = &text[..text.len().min(3)];
        UrlFault::Escape(String::from_utf8_lossy(shown).into_owned())
    })
}

/// Escapes what must be escaped.
pub(super) fn escape(bytes: &[u8], part: Part) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if part.must_escape(byte) {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

/// True if the text is a valid escaping for its part of the URL.
pub(super) fn is_valid(raw: &str, part: Part) -> bool {
    raw.bytes()
        .all(|byte| b"!$&'()*+,;=:@[]%".contains(&byte) || !part.must_escape(byte))
}
