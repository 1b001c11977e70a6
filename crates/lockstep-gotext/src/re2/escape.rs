//! Escapes that stand for one code point.

use super::error::{PatternError, PatternFault};

/// Reads the escape at the start of `text`, which begins with `\`, and returns its code point with what follows.
///
/// The code point may be a surrogate, which no text contains.
pub(super) fn read(text: &str) -> Result<(u32, &str), PatternError> {
    let Some(kind) = text[1..].chars().next() else {
        return Err(PatternError::new(PatternFault::TrailingBackslash, ""));
    };
    let rest = &text[1 + kind.len_utf8()..];
    let simple = match kind {
        'a' => 0x07,
        'f' => 0x0c,
        'n' => 0x0a,
        'r' => 0x0d,
        't' => 0x09,
        'v' => 0x0b,
        '0'..='7' => return read_octal(text),
        'x' => return read_hex(text, rest),
        punctuation if punctuation.is_ascii() && !punctuation.is_ascii_alphanumeric() => {
            u32::from(punctuation)
        }
        _ => return Err(invalid(text, rest)),
    };
    Ok((simple, rest))
}

fn invalid(text: &str, rest: &str) -> PatternError {
    let escape = &text[..text.len() - rest.len()];
    PatternError::new(PatternFault::InvalidEscape, escape)
}

/// One to three octal digits; a single digit other than zero would be a backreference.
fn read_octal(text: &str) -> Result<(u32, &str), PatternError> {
    let digits = text[1..]
        .bytes()
        .take(3)
        .take_while(|byte| (b'0'..=b'7').contains(byte))
        .count();
    let (octal, rest) = text[1..].split_at(digits);
    if digits == 1 && octal != "0" {
        return Err(invalid(text, rest));
    }
    let value = octal
        .bytes()
        .fold(0, |value, digit| value * 8 + u32::from(digit - b'0'));
    Ok((value, rest))
}

/// `\xHH`, or `\x{H…}` up to the last code point.
fn read_hex<'p>(text: &'p str, rest: &'p str) -> Result<(u32, &'p str), PatternError> {
    if let Some(braced) = rest.strip_prefix('{') {
        return read_braced_hex(text, braced);
    }
    let mut pair = rest.chars();
    let digits = [pair.next(), pair.next()].map(|digit| digit?.to_digit(16));
    match digits {
        [Some(high), Some(low)] => Ok((high * 16 + low, pair.as_str())),
        _ => Err(invalid(text, pair.as_str())),
    }
}

fn read_braced_hex<'p>(text: &'p str, braced: &'p str) -> Result<(u32, &'p str), PatternError> {
    let mut value = 0_u32;
    for (at, character) in braced.char_indices() {
        let after = &braced[at + character.len_utf8()..];
        if character == '}' && at > 0 {
            return Ok((value, after));
        }
        let Some(digit) = character.to_digit(16) else {
            return Err(invalid(text, after));
        };
        value = value * 16 + digit;
        if value > u32::from(char::MAX) {
            return Err(invalid(text, after));
        }
    }
    Err(invalid(text, ""))
}
