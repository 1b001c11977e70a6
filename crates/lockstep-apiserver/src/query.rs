//! Query parameters as API servers read them.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// The query of a request. Unknown and empty parameters are no errors; of one given twice, the
/// first counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Query<'a>(&'a str);

/// A number that is none.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("strconv.ParseInt: parsing {value:?}: invalid syntax")]
pub struct BadNumber {
    /// What stands there.
    pub value: String,
}

impl<'a> Query<'a> {
    /// The text after the question mark.
    pub fn new(text: &'a str) -> Self {
        Self(text)
    }

    /// A parameter; none if it is not there.
    pub fn get(&self, name: &str) -> Option<Cow<'a, str>> {
        let found = self.pairs().find(|(key, _)| key == name)?;
        Some(found.1)
    }

    /// Every value of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        let pairs = self.pairs().filter(move |(key, _)| key == name);
        pairs.map(|(_, value)| value)
    }

    /// A switch: absent, `0` and `false` are off, anything else is on, the empty text too.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A whole number; none if it is not there. An empty text is an error.
    pub fn number(&self, name: &str) -> Result<Option<i64>, BadNumber> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let number = value.parse().map_err(|_| BadNumber {
            value: value.into_owned(),
        })?;
        Ok(Some(number))
    }

    fn pairs(&self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> + use<'a> {
        self.0
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decode(key), decode(value))
            })
    }
}

/// A plus is a blank; bytes that are no UTF-8 become replacement characters.
fn decode(text: &str) -> Cow<'_, str> {
    if text.contains('+') {
        let blanks = text.replace('+', " ");
        return Cow::Owned(percent_decode_str(&blanks).decode_utf8_lossy().into_owned());
    }
    percent_decode_str(text).decode_utf8_lossy()
}
