//! Query parameters.

use percent_encoding::percent_decode;

/// Query parameters in their original order. Empty pairs are skipped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Parses a query string. Invalid UTF-8 is replaced.
    pub fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let decode = |text: &str| {
            let spaces = text.replace('+', " ");
            percent_decode(spaces.as_bytes())
                .decode_utf8_lossy()
                .into_owned()
        };
        let pairs = pairs.map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(name), decode(value))
        });
        Self(pairs.collect())
    }

    /// First value of a parameter.
    pub fn get(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// All values of a parameter.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(known, _)| known == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Parses a boolean as upstream: false if absent, `0` or `false` in any case; true otherwise, also without a value
    /// (`?watch`).
    pub fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// api-machinery.md T5.
    #[test]
    fn booleans_are_true_unless_absent_zero_or_false() {
        for (text, expected) in [
            ("", false),
            ("watch", true),
            ("watch=", true),
            ("watch=True", true),
            ("watch=1", true),
            ("watch=yes", true),
            ("watch=0", false),
            ("watch=false", false),
            ("watch=FALSE", false),
            ("&watch=true&", true),
            ("other=1", false),
        ] {
            assert_eq!(Query::parse(text).flag("watch"), expected, "{text}");
        }
    }

    #[test]
    fn pairs_are_decoded_once_and_kept_in_order() {
        let query = Query::parse("a=x%2Cy&&b=1+2&a=%2525&c%3D=%ff");
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["x,y", "%25"]);
        assert_eq!(query.get("b"), Some("1 2"));
        assert_eq!(query.get("c="), Some("\u{fffd}"));
        assert_eq!(query.get("d"), None);
    }
}
