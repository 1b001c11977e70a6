//! Compression of large responses.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;

/// Size above which responses are compressed if the client accepts gzip, as upstream.
pub(super) const GZIP_BYTES_MIN: usize = 128 * 1024;

/// True if the client accepts gzip.
pub(super) fn is_accepted(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    texts.flat_map(|text| text.split(',')).any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let quality = quality.trim().trim_start_matches("q=");
        let is_refused = quality.starts_with('0') && quality.bytes().all(|b| b"0.".contains(&b));
        name.trim() == "gzip" && !is_refused
    })
}

/// Compresses at the fastest level.
pub(super) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 4), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("memory does not fail to be written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_accepted_by_name_and_not_with_a_quality_of_zero() {
        for (accepted, expected) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("identity", false),
            ("x-gzip", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, accepted.parse().expect("a value"));
            assert_eq!(is_accepted(&headers), expected, "{accepted}");
        }
        assert!(!is_accepted(&HeaderMap::new()));
    }
}
