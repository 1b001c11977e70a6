//! Functions of CEL's strings library, which count in code points.

use crate::print::named_escape;

/// Why a text function failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// An index before the text or after its end.
    #[error("index out of range: {0}")]
    IndexOutOfRange(i64),
    /// A range whose start is behind its end.
    #[error("invalid substring range. start: {start}, end: {end}")]
    InvalidRange {
        /// First index of the range.
        start: i64,
        /// Index behind the range.
        end: i64,
    },
}

/// Result of a search that starts behind the end of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetBeyondEnd {
    /// Nothing is found: −1, as Kubernetes answers.
    NotFound,
    /// An error, as the conformance suite of CEL expects.
    Fails,
}

/// The number of code points.
pub fn size(text: &str) -> i64 {
    count(text.chars().count())
}

fn count(number: usize) -> i64 {
    i64::try_from(number).expect("text fits memory, and memory fits 63 bits")
}

/// The byte where code point `index` begins; the end of the text for the index behind the last one.
fn byte_offset(text: &str, index: i64) -> Result<usize, TextError> {
    let wanted = usize::try_from(index).map_err(|_| TextError::IndexOutOfRange(index))?;
    text.char_indices()
        .map(|(at, _)| at)
        .chain([text.len()])
        .nth(wanted)
        .ok_or(TextError::IndexOutOfRange(index))
}

/// The character at `index`, as text; empty at the index behind the last character.
pub fn char_at(text: &str, index: i64) -> Result<&str, TextError> {
    let rest = &text[byte_offset(text, index)?..];
    let length = rest.chars().next().map_or(0, char::len_utf8);
    Ok(&rest[..length])
}

/// Index of the first `wanted`, or −1.
pub fn index_of(text: &str, wanted: &str) -> i64 {
    text.find(wanted).map_or(-1, |at| size(&text[..at]))
}

/// Index of the first `wanted` at or after `offset`, or −1.
pub fn index_of_from(
    text: &str,
    wanted: &str,
    offset: i64,
    beyond: OffsetBeyondEnd,
) -> Result<i64, TextError> {
    let start = match search_start(text, wanted, offset, beyond)? {
        Search::From(start) => start,
        Search::Decided(index) => return Ok(index),
    };
    let found = text[start..].find(wanted);
    Ok(found.map_or(-1, |at| offset + size(&text[start..start + at])))
}

/// Index of the last `wanted`, or −1. An empty `wanted` is found at the end.
pub fn last_index_of(text: &str, wanted: &str) -> i64 {
    text.rfind(wanted).map_or(-1, |at| size(&text[..at]))
}

/// Index of the last `wanted` that begins at or before `offset`, or −1.
pub fn last_index_of_until(
    text: &str,
    wanted: &str,
    offset: i64,
    beyond: OffsetBeyondEnd,
) -> Result<i64, TextError> {
    let start = match search_start(text, wanted, offset, beyond)? {
        Search::From(start) => start,
        Search::Decided(index) => return Ok(index),
    };
    // The last match that begins at or before `start` lies within that many bytes.
    let mut end = text.len().min(start + wanted.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let found = text[..end].rfind(wanted);
    Ok(found.map_or(-1, |at| size(&text[..at])))
}

/// Where a search with an offset begins.
enum Search {
    /// At this byte.
    From(usize),
    /// Nowhere: the answer is known.
    Decided(i64),
}

/// Where to search from. An empty text is found at the offset itself.
fn search_start(
    text: &str,
    wanted: &str,
    offset: i64,
    beyond: OffsetBeyondEnd,
) -> Result<Search, TextError> {
    let is_lenient = beyond == OffsetBeyondEnd::NotFound;
    match byte_offset(text, offset) {
        // Kubernetes answers with the offset before it looks at the text.
        Ok(_) if wanted.is_empty() => Ok(Search::Decided(offset)),
        Err(_) if is_lenient && wanted.is_empty() => Ok(Search::Decided(offset)),
        // Kubernetes looks no further from the very end, not even backward.
        Ok(start) if is_lenient && start == text.len() => Ok(Search::Decided(-1)),
        Ok(start) => Ok(Search::From(start)),
        Err(_) if is_lenient && offset >= 0 => Ok(Search::Decided(-1)),
        Err(error) => Err(error),
    }
}

/// The text from `start` to its end.
pub fn substring(text: &str, start: i64) -> Result<&str, TextError> {
    Ok(&text[byte_offset(text, start)?..])
}

/// The text from `start` up to and without `end`.
pub fn substring_between(text: &str, start: i64, end: i64) -> Result<&str, TextError> {
    if start > end {
        return Err(TextError::InvalidRange { start, end });
    }
    let from = byte_offset(text, start)?;
    let to = byte_offset(text, end)?;
    Ok(&text[from..to])
}

/// Replaces the first `limit` occurrences of `old`, all of them when `limit` is negative. An empty `old` occurs before
/// every character and at the end.
pub fn replace(text: &str, old: &str, new: &str, limit: i64) -> String {
    match usize::try_from(limit) {
        Ok(limit) => text.replacen(old, new, limit),
        Err(_) => text.replace(old, new),
    }
}

/// Splits at `separator` into at most `limit` parts, the last one holding the rest; any number when `limit` is
/// negative, none when it is zero. An empty separator splits into characters.
pub fn split<'t>(text: &'t str, separator: &str, limit: i64) -> Vec<&'t str> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    if limit == 0 {
        return Vec::new();
    }
    if separator.is_empty() {
        return split_characters(text, limit);
    }
    text.splitn(limit, separator).collect()
}

fn split_characters(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if parts.len() + 1 == limit {
            parts.push(rest);
            break;
        }
        let (character, after) = rest.split_at(first.len_utf8());
        parts.push(character);
        rest = after;
    }
    parts
}

/// Without Unicode white space at both ends.
pub fn trim(text: &str) -> &str {
    text.trim()
}

/// With `A` to `Z` in lower case; other letters keep their case.
pub fn lower_ascii(text: &str) -> String {
    text.to_ascii_lowercase()
}

/// With `a` to `z` in upper case; other letters keep their case.
pub fn upper_ascii(text: &str) -> String {
    text.to_ascii_uppercase()
}

/// The characters in reverse order.
pub fn reverse(text: &str) -> String {
    text.chars().rev().collect()
}

/// `jsonpatch.escapeKey`: a key as one segment of a JSON pointer.
pub fn escape_json_pointer_key(key: &str) -> String {
    let mut escaped = String::with_capacity(key.len());
    for character in key.chars() {
        match character {
            '~' => escaped.push_str("~0"),
            '/' => escaped.push_str("~1"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// `strings.quote`: double quotes around the text, escapes for quotes, backslashes and the named control characters.
/// Unlike `%q`, it leaves every other character as it is.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match named_escape(character) {
            Some(escape) => quoted.push_str(escape),
            None => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
