//! `Accept` headers.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::ACCEPT;

/// Most media ranges of an `Accept` header that are considered.
const RANGES_MAX: usize = 64;

/// One media range of an `Accept` header.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MediaRange {
    /// `application/json`, `*/*`, … in lower case.
    pub(crate) media_type: String,
    /// Parameters other than `q`.
    pub(crate) parameters: BTreeMap<String, String>,
}

impl MediaRange {
    pub(crate) fn parameter(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", String::as_str)
    }
}

/// Accepted media ranges by descending `q`, in their original order if equal, without those with `q=0`. A missing
/// header means `*/*`.
pub(crate) fn ranges(headers: &HeaderMap) -> Vec<MediaRange> {
    let texts = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok());
    let items = texts
        .flat_map(|text| text.split(','))
        .filter(|item| !item.trim().is_empty());
    let mut found: Vec<(u16, MediaRange)> = items.take(RANGES_MAX).map(range).collect();
    if found.is_empty() {
        found.push(range("*/*"));
    }
    found.retain(|(quality, _)| *quality > 0);
    found.sort_by_key(|(quality, _)| std::cmp::Reverse(*quality));
    found.into_iter().map(|(_, range)| range).collect()
}

/// Parses a media range and its quality in thousandths.
fn range(item: &str) -> (u16, MediaRange) {
    let mut parts = item.split(';').map(str::trim);
    let media_type = parts.next().unwrap_or_default().to_ascii_lowercase();
    let mut quality = 1000;
    let mut parameters = BTreeMap::new();
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (
            name.trim().to_ascii_lowercase(),
            value.trim().trim_matches('"'),
        );
        if name == "q" {
            quality = thousandths(value);
        } else {
            parameters.insert(name, value.to_owned());
        }
    }
    (
        quality,
        MediaRange {
            media_type,
            parameters,
        },
    )
}

/// Parses a quality: `0.8` is 800. An invalid quality counts as 1.
fn thousandths(text: &str) -> u16 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    match (whole, digits) {
        ("0" | "", true) => format!("{part:0<3}").parse().unwrap_or(1000),
        _ => 1000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(text: &str) -> Vec<String> {
        let mut headers = HeaderMap::new();
        if !text.is_empty() {
            headers.insert(ACCEPT, text.parse().unwrap());
        }
        ranges(&headers)
            .into_iter()
            .map(|range| range.media_type)
            .collect()
    }

    /// api-machinery.md §3/choice: highest `q` first, then order.
    #[test]
    fn the_most_wanted_media_type_comes_first() {
        assert_eq!(types(""), ["*/*"]);
        assert_eq!(types("a/b, c/d"), ["a/b", "c/d"]);
        assert_eq!(types("a/b;q=0.5, c/d;q=0.9, e/f"), ["e/f", "c/d", "a/b"]);
        assert_eq!(types("a/b;q=0, C/D;q=0.001"), ["c/d"]);
        assert_eq!(types("a/b;q=x, c/d"), ["a/b", "c/d"]);
    }

    #[test]
    fn parameters_are_read_without_quotes() {
        let (_, range) = range("application/json; as=\"Table\";V=v1 ;g=meta.k8s.io");
        assert_eq!(range.parameter("as"), "Table");
        assert_eq!(range.parameter("v"), "v1");
        assert_eq!(range.parameter("g"), "meta.k8s.io");
        assert_eq!(range.parameter("q"), "");
    }
}
