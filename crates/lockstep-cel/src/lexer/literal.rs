//! String and bytes literals: delimiters and escapes.

/// Errors in the value of a terminated literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StringFault {
    /// An escape names a surrogate or something past U+10FFFF.
    CodePoint,
    /// An escape that this kind of literal does not know.
    Unescape,
}

/// Length of the literal that starts with a quote, or the length of the text to skip when it is none.
pub(super) fn scan(bytes: &[u8], raw: bool) -> Result<usize, usize> {
    let quote = bytes[0];
    let triple = bytes.len() >= 3 && bytes[1] == quote && bytes[2] == quote;
    let width = if triple { 3 } else { 1 };
    let mut at = width;
    while at < bytes.len() {
        let byte = bytes[at];
        if byte == quote && (!triple || bytes[at..].starts_with(&[quote; 3])) {
            return Ok(at + width);
        }
        at += match byte {
            b'\n' | b'\r' if !triple => return Err(at),
            b'\\' if !raw => escape_length(&bytes[at..]).ok_or(at + 2)?,
            _ => 1,
        };
    }
    // An empty literal followed by an unfinished one reads as `''` and then `'`.
    if triple { Ok(2) } else { Err(bytes.len()) }
}

/// Length of the escape at the start of `bytes`, if it is one.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    let hex = |count: usize| {
        let digits = bytes.get(2..2 + count)?;
        digits
            .iter()
            .all(u8::is_ascii_hexdigit)
            .then_some(2 + count)
    };
    match bytes.get(1)? {
        b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'\\' | b'?' | b'"' | b'\'' | b'`' => {
            Some(2)
        }
        b'x' | b'X' => hex(2),
        b'u' => hex(4),
        b'U' => hex(8),
        b'0'..=b'3' => {
            let digits = bytes.get(2..4)?;
            digits
                .iter()
                .all(|digit| matches!(digit, b'0'..=b'7'))
                .then_some(4)
        }
        _ => None,
    }
}

/// One piece of a literal's body.
enum Piece<'a> {
    Text(&'a str),
    Byte(u8),
    Unicode(u32),
}

/// The value of a string token.
pub(crate) fn string_value(token: &str) -> Result<Box<str>, StringFault> {
    let mut value = String::with_capacity(token.len());
    for_each_piece(token, |piece| {
        match piece {
            Piece::Text(text) => value.push_str(text),
            Piece::Byte(byte) => value.push(char::from(byte)),
            Piece::Unicode(code) => value.push(char::from_u32(code).ok_or(StringFault::CodePoint)?),
        }
        Ok(())
    })?;
    Ok(value.into())
}

/// The value of a bytes token.
pub(crate) fn bytes_value(token: &str) -> Result<Box<[u8]>, StringFault> {
    let mut value = Vec::with_capacity(token.len());
    for_each_piece(token, |piece| {
        match piece {
            Piece::Text(text) => value.extend_from_slice(text.as_bytes()),
            Piece::Byte(byte) => value.push(byte),
            Piece::Unicode(_) => return Err(StringFault::Unescape),
        }
        Ok(())
    })?;
    Ok(value.into())
}

fn for_each_piece(
    token: &str,
    mut visit: impl FnMut(Piece<'_>) -> Result<(), StringFault>,
) -> Result<(), StringFault> {
    let open = token.find(['"', '\'']).expect("a string token has a quote");
    let (prefix, quoted) = token.split_at(open);
    let width = if quoted.len() >= 6 && quoted.as_bytes()[1] == quoted.as_bytes()[0] {
        3
    } else {
        1
    };
    let mut body = &quoted[width..quoted.len() - width];
    if prefix.contains(['r', 'R']) {
        return visit(Piece::Text(body));
    }
    while let Some(at) = body.find('\\') {
        visit(Piece::Text(&body[..at]))?;
        let length = escape_length(&body.as_bytes()[at..]).ok_or(StringFault::Unescape)?;
        visit(escaped(&body[at..at + length])?)?;
        body = &body[at + length..];
    }
    visit(Piece::Text(body))
}

fn escaped(escape: &str) -> Result<Piece<'_>, StringFault> {
    let number =
        |digits: &str, radix| u32::from_str_radix(digits, radix).map_err(|_| StringFault::Unescape);
    let byte = |value: u32| {
        u8::try_from(value)
            .map(Piece::Byte)
            .map_err(|_| StringFault::Unescape)
    };
    match escape.as_bytes()[1] {
        b'a' => Ok(Piece::Byte(7)),
        b'b' => Ok(Piece::Byte(8)),
        b'f' => Ok(Piece::Byte(12)),
        b'n' => Ok(Piece::Byte(b'\n')),
        b'r' => Ok(Piece::Byte(b'\r')),
        b't' => Ok(Piece::Byte(b'\t')),
        b'v' => Ok(Piece::Byte(11)),
        b'x' | b'X' => byte(number(&escape[2..], 16)?),
        b'u' | b'U' => Ok(Piece::Unicode(number(&escape[2..], 16)?)),
        b'0'..=b'3' => byte(number(&escape[1..], 8)?),
        _ => Ok(Piece::Text(&escape[1..])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_mean_what_the_table_says() {
        let string = |token| string_value(token).unwrap();
        assert_eq!(
            &*string(r#""\a\b\f\n\r\t\v\\\?\"\'\`""#),
            "\u{7}\u{8}\u{c}\n\r\t\u{b}\\?\"'`"
        );
        assert_eq!(&*string(r"'\101\x41\X41\u00e9\U0001F600'"), "AAAé😀");
        assert_eq!(&*string(r"r'a\n'"), r"a\n");
        assert_eq!(&*string("'''a\n'b'''"), "a\n'b");
        assert_eq!(&*string("''"), "");
        assert_eq!(string_value(r"'\ud800'"), Err(StringFault::CodePoint));
        assert_eq!(string_value(r"'\U00110000'"), Err(StringFault::CodePoint));
        assert_eq!(&*bytes_value(r"b'\377\xffé'").unwrap(), b"\xff\xff\xc3\xa9");
        assert_eq!(bytes_value(r"b'\u00e9'"), Err(StringFault::Unescape));
    }
}
