//! Mail addresses as Go's `net/mail` reads one: `Bob <bob@example.com>` or `bob@example.com`.

/// A single address with an optional display name.
pub(super) fn is_address(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    match text.strip_suffix('>').and_then(|rest| rest.split_once('<')) {
        Some((name, address)) => is_phrase(name) && is_plain(address),
        None => is_plain(text),
    }
}

fn is_plain(address: &str) -> bool {
    let Some((local, domain)) = address.rsplit_once('@') else {
        return false;
    };
    let is_local = match local
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(quoted) => is_quoted(quoted),
        None => is_dot_atom(local),
    };
    is_local && (is_dot_atom(domain) || is_domain_literal(domain))
}

fn is_domain_literal(domain: &str) -> bool {
    let inside = domain
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let address = inside.map(|inside| inside.strip_prefix("IPv6:").unwrap_or(inside));
    address.is_some_and(|address| address.parse::<std::net::IpAddr>().is_ok())
}

/// Words of ordinary characters joined by single dots.
fn is_dot_atom(text: &str) -> bool {
    text.split('.')
        .all(|atom| !atom.is_empty() && atom.chars().all(is_atom))
}

fn is_atom(character: char) -> bool {
    !character.is_ascii()
        || character.is_ascii_alphanumeric()
        || "!#$%&'*+-/=?^_`{|}~".contains(character)
}

fn is_quoted(text: &str) -> bool {
    let mut escaped = false;
    for character in text.chars() {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return false,
            control if control.is_ascii_control() => return false,
            _ => {}
        }
    }
    !escaped
}

/// Words, dotted or in quotes, with spaces between; none is fine.
fn is_phrase(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    match text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    {
        Some(quoted) => is_quoted(quoted),
        None => text
            .chars()
            .all(|character| is_atom(character) || " \t.".contains(character)),
    }
}
