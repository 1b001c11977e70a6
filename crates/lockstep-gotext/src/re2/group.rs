//! Groups: flags and names after an opening parenthesis.

use super::error::{PatternError, PatternFault};

/// Settings that `(?…)` turns on and off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent switches of the language"
)]
pub(super) struct Flags {
    /// `i`
    pub(super) fold_case: bool,
    /// `m`
    pub(super) multi_line: bool,
    /// `s`
    pub(super) dot_matches_newline: bool,
    /// `U`
    pub(super) swap_greed: bool,
}

/// Kind of group that a parenthesis opens.
pub(super) enum Opening {
    /// `(?i)`: nothing; the flags hold until the enclosing group ends.
    FlagsOnly(Flags),
    /// A group whose inside runs under `flags`.
    Group(Flags),
}

/// Reads the opening of a group at the start of `text`, which begins with `(`.
pub(super) fn read(text: &str, flags: Flags) -> Result<(Opening, &str), PatternError> {
    let Some(extension) = text.strip_prefix("(?") else {
        return Ok((Opening::Group(flags), &text[1..]));
    };
    for named in ["P<", "<"] {
        if extension.len() > named.len()
            && let Some(name) = extension.strip_prefix(named)
        {
            return Ok((Opening::Group(flags), skip_name(text, name)?));
        }
    }
    read_flags(text, extension, flags)
}

/// Checks `name>…` and returns what follows the `>`.
fn skip_name<'p>(text: &'p str, name: &'p str) -> Result<&'p str, PatternError> {
    let fault = PatternFault::InvalidNamedCapture;
    let Some((name, rest)) = name.split_once('>') else {
        return Err(PatternError::new(fault, text));
    };
    let is_word = |byte: u8| byte == b'_' || byte.is_ascii_alphanumeric();
    if name.is_empty() || !name.bytes().all(is_word) {
        let opening = &text[..text.len() - rest.len()];
        return Err(PatternError::new(fault, opening));
    }
    Ok(rest)
}

fn read_flags<'p>(
    text: &'p str,
    extension: &'p str,
    mut flags: Flags,
) -> Result<(Opening, &'p str), PatternError> {
    let mut value = true;
    let mut flag_since_minus = false;
    let mut end = text.len() - extension.len();
    for character in extension.chars() {
        end += character.len_utf8();
        let flag = match character {
            'i' => &mut flags.fold_case,
            'm' => &mut flags.multi_line,
            's' => &mut flags.dot_matches_newline,
            'U' => &mut flags.swap_greed,
            '-' if value => {
                value = false;
                flag_since_minus = false;
                continue;
            }
            ':' | ')' if value || flag_since_minus => {
                let opening = match character {
                    ')' => Opening::FlagsOnly(flags),
                    _ => Opening::Group(flags),
                };
                return Ok((opening, &text[end..]));
            }
            _ => break,
        };
        *flag = value;
        flag_since_minus = true;
    }
    let fault = PatternFault::InvalidPerlOp;
    Err(PatternError::new(fault, &text[..end]))
}
