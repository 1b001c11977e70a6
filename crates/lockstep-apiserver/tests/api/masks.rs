//! Names for the values that depend on the steps before: resource versions, UIDs, times, continue tokens.
//!
//! ```text
//! <rv>            the resourceVersion of an object that is shown for the first time
//! <rv same>       equal to the one this object was last shown with; also <rv newer> and <rv older>
//! <rv latest>     of a list, bookmark or message: the revision of the store; otherwise <rv past>
//! <NAME>          the resourceVersion that a line `= NAME` named
//! <uid a>         the UID of the object `a`; <uid a 2> of the second object of that name
//! <time>          the time of the request; <time -60s> and <time +30s> lie before and after it
//! <continue …>    a continue token, with the resourceVersion in it masked
//! ```
//!
//! Each name depends on the object alone, so that a new step changes no other step.
//! In requests, `<NAME>`, `<uid a>`, `<rv latest>`, `<rv latest+3>`, `<continue>` (the last token shown) and
//! `<continue NAME n/a 2>` (the page after two items, of which `n/a` is the last) stand for the values.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Width of `00000000-0000-4000-8000-000000000000`.
const UID_LENGTH: usize = 36;
/// Width of `2026-11-16T00:00:00`.
const TIME_LENGTH: usize = 19;
const VERSION: &str = "\"resourceVersion\":\"";

/// The values that were shown so far.
#[derive(Default)]
pub(crate) struct Masks {
    /// UIDs by their names.
    uids: BTreeMap<String, String>,
    /// The resourceVersion each object was last shown with, by UID.
    versions: BTreeMap<String, u64>,
    /// Points that the script named.
    named: BTreeMap<String, u64>,
    /// The last continue token.
    token: String,
    /// The resourceVersion of the last answer.
    last: Option<u64>,
}

/// The moment of an answer.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) revision: u64,
    /// Seconds since 1970.
    pub(crate) time: i64,
}

impl Masks {
    /// Names the resourceVersion of the last answer.
    pub(crate) fn name(&mut self, name: &str) {
        let last = self.last.expect("the answer has a resourceVersion");
        self.named.insert(name.to_owned(), last);
    }

    /// Puts values in place of their names.
    pub(crate) fn unmasked(&self, request: &str, now: Moment) -> String {
        let mut text = request.to_owned();
        for (name, version) in &self.named {
            text = text.replace(&format!("<{name}>"), &version.to_string());
        }
        for (name, uid) in &self.uids {
            text = text.replace(&format!("<uid {name}>"), uid);
        }
        for ahead in 1..10 {
            let later = (now.revision + ahead).to_string();
            text = text.replace(&format!("<rv latest+{ahead}>"), &later);
        }
        let text = text
            .replace("<rv latest>", &now.revision.to_string())
            .replace("<continue>", &self.token);
        match text.split_once("<continue ") {
            None => text,
            Some((before, rest)) => {
                let (token, after) = rest.split_once('>').expect("a mask ends");
                format!("{before}{}{after}", self.token_at(token))
            }
        }
    }

    /// The token of a page: the name of its resourceVersion, the last key before it, and the number of items before it.
    fn token_at(&self, page: &str) -> String {
        let words: Vec<&str> = page.split(' ').collect();
        let [name, key, seen] = words[..] else {
            panic!("a page has a name, a key and a number: {page}")
        };
        let version = self.named[name];
        let start = format!("{key}\\u0000");
        URL_SAFE_NO_PAD.encode(format!(
            r#"{{"v":"meta.k8s.io/v1","rv":{version},"start":"{start}","seen":{seen}}}"#
        ))
    }

    /// Puts names in place of values.
    pub(crate) fn masked(&mut self, answer: &str, now: Moment) -> String {
        self.last = top_version(answer);
        self.learn_uids(answer);
        let mut text = String::new();
        let mut rest = answer;
        while !rest.is_empty() {
            let (mask, taken) = self
                .version(rest, now)
                .or_else(|| self.version_in_message(&text, rest, now))
                .or_else(|| self.token(rest, now))
                .or_else(|| self.uid(rest))
                .or_else(|| time(rest, now))
                .unwrap_or_else(|| {
                    let first = rest.chars().next().expect("it is not empty");
                    (first.to_string(), first.len_utf8())
                });
            text.push_str(&mask);
            rest = &rest[taken..];
        }
        text
    }

    fn learn_uids(&mut self, answer: &str) {
        for (at, _) in answer.match_indices("\"uid\":\"") {
            let uid = &answer[at + 7..];
            let Some(uid) = uid.get(..UID_LENGTH).filter(|uid| is_uid(uid)) else {
                continue;
            };
            if self.uids.values().any(|known| known == uid) {
                continue;
            }
            let name = name_before(&answer[..at]);
            let nth = |nth: usize| match nth {
                1 => name.to_owned(),
                _ => format!("{name} {nth}"),
            };
            let free = (1..1000)
                .map(nth)
                .find(|name| !self.uids.contains_key(name));
            let free = free.expect("no script has a thousand objects of one name");
            self.uids.insert(free, uid.to_owned());
        }
    }

    /// A member `resourceVersion`.
    fn version(&mut self, rest: &str, now: Moment) -> Option<(String, usize)> {
        let value = rest.strip_prefix(VERSION)?;
        let digits = value.split('"').next()?;
        let version: u64 = digits.parse().ok()?;
        let mask = match owner(value) {
            Some(uid) => {
                let before = self.versions.insert(uid.to_owned(), version);
                match before.map(|before| version.cmp(&before)) {
                    None => "<rv>".to_owned(),
                    Some(std::cmp::Ordering::Equal) => "<rv same>".to_owned(),
                    Some(std::cmp::Ordering::Greater) => "<rv newer>".to_owned(),
                    Some(std::cmp::Ordering::Less) => "<rv older>".to_owned(),
                }
            }
            None => self.point(version, now),
        };
        let mask = self.name_of(version).unwrap_or(mask);
        Some((format!("{VERSION}{mask}"), VERSION.len() + digits.len()))
    }

    fn name_of(&self, version: u64) -> Option<String> {
        let mut named = self.named.iter();
        let (name, _) = named.find(|(_, named)| **named == version)?;
        Some(format!("<{name}>"))
    }

    fn point(&self, version: u64, now: Moment) -> String {
        self.name_of(version).unwrap_or_else(|| match version {
            0 => "0".to_owned(),
            version if version == now.revision => "<rv latest>".to_owned(),
            _ => "<rv past>".to_owned(),
        })
    }

    /// A revision inside a message of the server.
    fn version_in_message(&self, before: &str, rest: &str, now: Moment) -> Option<(String, usize)> {
        let marks = [
            ", current: ",
            "the ResourceVersion in record (",
            "too old resource version: 2 (",
        ];
        let is_marked = marks.iter().any(|mark| before.ends_with(mark));
        let digits = rest.find(|character: char| !character.is_ascii_digit())?;
        if !is_marked || digits == 0 {
            return None;
        }
        let version = rest[..digits].parse().ok()?;
        Some((self.point(version, now), digits))
    }

    fn token(&mut self, rest: &str, now: Moment) -> Option<(String, usize)> {
        let start = "\"continue\":\"";
        let value = rest.strip_prefix(start)?.split('"').next()?;
        let decoded = URL_SAFE_NO_PAD.decode(value).ok()?;
        let decoded = String::from_utf8(decoded).ok()?;
        let (before, after) = decoded.split_once("\"rv\":")?;
        let (version, after) = after.split_once(',')?;
        value.clone_into(&mut self.token);
        let point = self.point(version.parse().unwrap_or_default(), now);
        let mask = format!("{start}<continue {before}\"rv\":{point},{after}>");
        Some((mask, start.len() + value.len()))
    }

    fn uid(&self, rest: &str) -> Option<(String, usize)> {
        let uid = rest.get(..UID_LENGTH).filter(|uid| is_uid(uid))?;
        let mut known = self.uids.iter();
        let name = known.find(|(_, known)| *known == uid)?.0;
        Some((format!("<uid {name}>"), UID_LENGTH))
    }
}

/// A time of the day the scripts begin on, or of the one after.
fn time(rest: &str, now: Moment) -> Option<(String, usize)> {
    let text = rest.get(..TIME_LENGTH)?;
    if !text.starts_with("2026-11-1") {
        return None;
    }
    let end = rest.find('Z')?;
    let fraction = &rest[TIME_LENGTH..end];
    let is_fraction = fraction.chars().all(|c| c == '.' || c.is_ascii_digit());
    let moment: jiff::Timestamp = format!("{text}Z").parse().ok().filter(|_| is_fraction)?;
    let mask = match moment.as_second() - now.time {
        0 => format!("<time{fraction}>"),
        offset => format!("<time {offset:+}s{fraction}>"),
    };
    Some((mask, end + 1))
}

fn is_uid(text: &str) -> bool {
    text.char_indices().all(|(at, character)| match at {
        8 | 13 | 18 | 23 => character == '-',
        14 => character == '4',
        _ => character.is_ascii_hexdigit(),
    })
}

/// The member `name` beside the end of `text`. Members are sorted, so that it comes before the UID.
fn name_before(text: &str) -> &str {
    let mut depth = 0;
    for (at, character) in text.char_indices().rev() {
        match character {
            '}' | ']' => depth += 1,
            '{' | '[' if depth == 0 => break,
            '{' | '[' => depth -= 1,
            _ => {}
        }
        let found = text[at..].strip_prefix("\"name\":\"");
        if let Some(found) = found.filter(|_| depth == 0) {
            return found.split('"').next().unwrap_or_default();
        }
    }
    "?"
}

/// The UID in the metadata whose `resourceVersion` begins `rest`; none for lists.
fn owner(rest: &str) -> Option<&str> {
    let (mut depth, mut is_text, mut is_escaped) = (0, true, false);
    for (at, character) in rest.char_indices() {
        match character {
            '"' if !is_escaped => {
                is_text = !is_text;
                let found = rest[at..].strip_prefix("\"uid\":\"");
                if let Some(found) = found.filter(|_| is_text && depth == 0) {
                    return found.get(..UID_LENGTH);
                }
            }
            '{' | '[' if !is_text => depth += 1,
            '}' | ']' if !is_text && depth == 0 => return None,
            '}' | ']' if !is_text => depth -= 1,
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    None
}

/// The resourceVersion of the object or list that an answer is.
fn top_version(answer: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(answer).ok()?;
    let version = value["metadata"]["resourceVersion"].as_str()?;
    version.parse().ok()
}
