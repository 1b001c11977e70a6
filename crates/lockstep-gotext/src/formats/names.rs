//! Validators of names and labels, with upstream's messages.

const LABEL_BYTES_MAX: usize = 63;
const SUBDOMAIN_BYTES_MAX: usize = 253;

const DNS1123_LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const DNS1123_SUBDOMAIN: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const DNS1035_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

/// The API's older checks speak of characters, its newer ones of bytes; both count bytes.
#[derive(Clone, Copy)]
enum LengthUnit {
    Bytes,
    Characters,
}

fn too_long(limit: usize, unit: LengthUnit) -> String {
    let unit = match unit {
        LengthUnit::Bytes => "bytes",
        LengthUnit::Characters => "characters",
    };
    format!("must be no more than {limit} {unit}")
}

fn mismatch(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<_> = examples
        .iter()
        .map(|example| format!("'{example}', "))
        .collect();
    let examples = examples.join(" or ");
    format!("{message} (e.g. {examples}regex used for validation is '{pattern}')")
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_dns1123_label(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter()
        .all(|end| end.is_some_and(|&byte| is_lower_alphanumeric(byte)))
        && bytes
            .iter()
            .all(|&byte| byte == b'-' || is_lower_alphanumeric(byte))
}

fn is_dns1123_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns1123_label)
}

pub(super) fn dns1123_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_BYTES_MAX {
        problems.push(too_long(LABEL_BYTES_MAX, LengthUnit::Characters));
    }
    if !is_dns1123_label(text) {
        problems.push(if is_dns1123_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            mismatch(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                 and must start and end with an alphanumeric character",
                DNS1123_LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    problems
}

pub(super) fn dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain(text, LengthUnit::Characters)
}

fn subdomain(text: &str, unit: LengthUnit) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > SUBDOMAIN_BYTES_MAX {
        problems.push(too_long(SUBDOMAIN_BYTES_MAX, unit));
    }
    if !is_dns1123_subdomain(text) {
        problems.push(mismatch(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
             and must start and end with an alphanumeric character",
            DNS1123_SUBDOMAIN,
            &["example.com"],
        ));
    }
    problems
}

pub(super) fn dns1035_label(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_BYTES_MAX {
        problems.push(too_long(LABEL_BYTES_MAX, LengthUnit::Characters));
    }
    let begins_with_letter = text.starts_with(|first: char| first.is_ascii_lowercase());
    if !(begins_with_letter && is_dns1123_label(text)) {
        problems.push(mismatch(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
             start with an alphabetic character, and end with an alphanumeric character",
            DNS1035_LABEL,
            &["my-name", "abc-123"],
        ));
    }
    problems
}

fn is_label_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter()
        .all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes
            .iter()
            .all(|byte| b"-_.".contains(byte) || byte.is_ascii_alphanumeric())
}

fn name_mismatch() -> String {
    mismatch(
        "must consist of alphanumeric characters, '-', '_' or '.', \
         and must start and end with an alphanumeric character",
        QUALIFIED_NAME,
        &["MyName", "my.name", "123-abc"],
    )
}

pub(super) fn qualified_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut parts = text.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => name,
        (Some(""), Some(name), None) => {
            problems.push("prefix part must be non-empty".to_owned());
            name
        }
        (Some(prefix), Some(name), None) => {
            let in_prefix = subdomain(prefix, LengthUnit::Bytes);
            problems.extend(
                in_prefix
                    .iter()
                    .map(|problem| format!("prefix part {problem}")),
            );
            name
        }
        _ => {
            let problem = name_mismatch();
            let hint = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {problem} {hint}")];
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_BYTES_MAX {
        problems.push(format!(
            "name part {}",
            too_long(LABEL_BYTES_MAX, LengthUnit::Bytes)
        ));
    }
    if !is_label_name(name) {
        problems.push(format!("name part {}", name_mismatch()));
    }
    problems
}

pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > LABEL_BYTES_MAX {
        problems.push(too_long(LABEL_BYTES_MAX, LengthUnit::Bytes));
    }
    if !text.is_empty() && !is_label_name(text) {
        problems.push(mismatch(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', \
             and must start and end with an alphanumeric character",
            LABEL_VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    problems
}

/// Upstream replaces the last two bytes of a prefix that ends with a dash by one `a`.
pub(super) fn mask_trailing_dash(text: &str) -> String {
    let bytes = text.as_bytes();
    if bytes.len() > 1 && bytes.ends_with(b"-") {
        let kept = String::from_utf8_lossy(&bytes[..bytes.len() - 2]);
        return format!("{kept}a");
    }
    text.to_owned()
}
