//! Validation of names, label keys and label values, with upstream's messages.
//!
//! Every function returns error messages in upstream's wording; an empty list means the text is valid.

/// Longest label, label value and name part of a key.
pub const LABEL_BYTES_MAX: usize = 63;
/// Longest subdomain.
pub const SUBDOMAIN_BYTES_MAX: usize = 253;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const KEY_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

/// Name validation of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// Labels joined by dots; most kinds.
    Subdomain,
    /// One label, no dots; namespaces.
    Label,
    /// One label that begins with a letter; services of old.
    Label1035,
    /// Anything that fits between two slashes; RBAC.
    PathSegment,
}

/// Complete name, or prefix of a generated name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// `metadata.name`
    Whole,
    /// `metadata.generateName`
    Prefix,
}

impl NameRule {
    /// Validates a name.
    pub fn check(self, name: &str, part: Part) -> Vec<String> {
        if self == Self::PathSegment {
            return path_segment(name, part);
        }
        let masked = match part {
            Part::Whole => name.to_owned(),
            Part::Prefix => mask_trailing_dash(name),
        };
        match self {
            Self::Label => dns1123_label(&masked),
            Self::Label1035 => dns1035_label(&masked),
            Self::Subdomain | Self::PathSegment => dns1123_subdomain(&masked),
        }
    }
}

/// A prefix may end in a dash: the suffix that follows makes it right.
fn mask_trailing_dash(name: &str) -> String {
    match name
        .strip_suffix('-')
        .map(|rest| (rest, rest.char_indices().next_back()))
    {
        Some((rest, Some((last, _)))) => format!("{}a", &rest[..last]),
        _ => name.to_owned(),
    }
}

fn path_segment(name: &str, part: Part) -> Vec<String> {
    if part == Part::Whole && matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    let forbidden = ["/", "%"].into_iter().filter(|text| name.contains(text));
    forbidden
        .map(|text| format!("may not contain '{text}'"))
        .collect()
}

/// A lower-case RFC 1123 label.
pub fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems = too_long(text, LABEL_BYTES_MAX, "characters");
    if !is_label(text) {
        problems.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            mismatch(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                 and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    problems
}

/// Lower-case RFC 1123 labels joined by dots.
pub fn dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut problems = too_long(text, SUBDOMAIN_BYTES_MAX, unit);
    if !is_subdomain(text) {
        problems.push(mismatch(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            &format!("{DNS1123_LABEL}(\\.{DNS1123_LABEL})*"),
            &["example.com"],
        ));
    }
    problems
}

/// Variant of the subdomain check that allows underscores, also at the start of a label.
pub fn dns1123_subdomain_with_underscore(text: &str) -> Vec<String> {
    const LABEL: &str = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
    let mut problems = too_long(text, SUBDOMAIN_BYTES_MAX, "characters");
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |label: &str| {
        let label = label.strip_prefix('_').unwrap_or(label).as_bytes();
        let ends = [label.first(), label.last()];
        ends.iter()
            .all(|end| end.is_some_and(|byte| is_plain(*byte)))
            && label
                .iter()
                .all(|byte| is_plain(*byte) || b"-_".contains(byte))
    };
    if !text.split('.').all(is_label) {
        problems.push(mismatch(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and \
             must start and end with an alphanumeric character",
            &format!("{LABEL}(\\.{LABEL})*"),
            &["example.com"],
        ));
    }
    problems
}

/// A label that begins with a letter.
pub fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems = too_long(text, LABEL_BYTES_MAX, "characters");
    if !(is_label(text) && text.starts_with(|first: char| first.is_ascii_lowercase())) {
        problems.push(mismatch(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            DNS1035_LABEL,
            &["my-name", "abc-123"],
        ));
    }
    problems
}

/// A label key, annotation key or finalizer: a name with an optional subdomain before a slash.
pub fn qualified_name(text: &str) -> Vec<String> {
    const RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                        alphanumeric character";
    let shape = || mismatch(RULE, KEY_NAME, &["MyName", "my.name", "123-abc"]);
    let mut parts = text.split('/');
    let (prefix, name) = match (parts.next(), parts.next(), parts.next()) {
        (Some(prefix), Some(name), None) => (Some(prefix), name),
        (_, None, _) => (None, text),
        (_, Some(_), _) => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
                shape()
            )];
        }
    };
    let mut problems = match prefix {
        None => Vec::new(),
        Some("") => vec!["prefix part must be non-empty".to_owned()],
        Some(prefix) => {
            let problems = subdomain(prefix, "bytes").into_iter();
            problems
                .map(|problem| format!("prefix part {problem}"))
                .collect()
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    }
    let long = too_long(name, LABEL_BYTES_MAX, "bytes").into_iter();
    problems.extend(long.map(|problem| format!("name part {problem}")));
    if !is_key_name(name) {
        problems.push(format!("name part {}", shape()));
    }
    problems
}

/// A label value: empty, or like the name part of a key.
pub fn label_value(text: &str) -> Vec<String> {
    let mut problems = too_long(text, LABEL_BYTES_MAX, "bytes");
    if !text.is_empty() && !is_key_name(text) {
        problems.push(mismatch(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            LABEL_VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}

/// A key of a config map or secret.
pub fn config_key(text: &str) -> Vec<String> {
    let mut problems = too_long(text, SUBDOMAIN_BYTES_MAX, "characters");
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    if text.is_empty() || !text.bytes().all(fits) {
        problems.push(mismatch(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match text {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

fn too_long(text: &str, max: usize, unit: &str) -> Vec<String> {
    if text.len() > max {
        vec![format!("must be no more than {max} {unit}")]
    } else {
        Vec::new()
    }
}

fn mismatch(rule: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    let examples = examples.join(" or ");
    format!("{rule} (e.g. {examples}regex used for validation is '{pattern}')")
}

fn framed(text: &str, end: fn(u8) -> bool, middle: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let ends = bytes.first().copied().zip(bytes.last().copied());
    ends.is_some_and(|(first, last)| end(first) && end(last)) && bytes.iter().copied().all(middle)
}

fn is_label(text: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    framed(text, end, |byte| {
        byte == b'-' || byte.is_ascii_lowercase() || byte.is_ascii_digit()
    })
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_key_name(text: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_alphanumeric();
    framed(text, end, |byte| {
        byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
    })
}
