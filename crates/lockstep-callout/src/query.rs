//! Values of the query of a URL.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that are encoded: all but the unreserved ones of RFC 3986.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Percent-encodes the value of a query parameter.
pub fn query_value(value: &str) -> String {
    utf8_percent_encode(value, ENCODED).to_string()
}

#[cfg(test)]
mod tests {
    use super::query_value;

    #[test]
    fn only_unreserved_characters_stay_as_they_are() {
        assert_eq!(query_value("aZ0-_.~"), "aZ0-_.~");
        assert_eq!(query_value("a b&c=%/+é"), "a%20b%26c%3D%25%2F%2B%C3%A9");
    }
}
