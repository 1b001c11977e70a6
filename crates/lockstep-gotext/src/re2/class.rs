//! Sets of characters: brackets, `\d`-like escapes, POSIX names, Unicode categories and scripts.

use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use super::CLASS_RANGES_MAX;
use super::error::{PatternError, PatternFault};
use super::escape;

/// A literal code point; under case folding, the set of its variants.
pub(super) fn literal(code_point: u32, fold_case: bool) -> Hir {
    let Some(character) = char::from_u32(code_point) else {
        // A surrogate: legal in a Go pattern, absent from any text.
        return Hir::fail();
    };
    if fold_case {
        let range = ClassUnicodeRange::new(character, character);
        return Hir::class(Class::Unicode(folded(ClassUnicode::new([range]))));
    }
    Hir::literal(character.encode_utf8(&mut [0; 4]).as_bytes())
}

/// Reads `[…]` at the start of `text` and returns the set with what follows.
pub(super) fn read_bracket(
    text: &str,
    fold_case: bool,
) -> Result<(ClassUnicode, &str), PatternError> {
    // Sorted and merged once at the end: a bracket may hold thousands of members.
    let mut ranges = Vec::new();
    let inside = &text[1..];
    let negated = inside.starts_with('^');
    let start = &inside[usize::from(negated)..];
    let mut rest = start;
    // A `]` in first place is an ordinary member.
    while rest.len() == start.len() || !rest.starts_with(']') {
        let (member, after) = read_member(text, rest, fold_case)?;
        ranges.extend_from_slice(member.ranges());
        if ranges.len() > CLASS_RANGES_MAX {
            return Err(PatternError::new(PatternFault::TooLarge, text));
        }
        rest = after;
    }
    let mut set = ClassUnicode::new(ranges);
    if negated {
        set.negate();
    }
    Ok((set, &rest[1..]))
}

/// One member of a bracket and what follows it.
fn read_member<'p>(
    bracket: &'p str,
    text: &'p str,
    fold_case: bool,
) -> Result<(ClassUnicode, &'p str), PatternError> {
    if let Some(named) = read_posix(text, fold_case)? {
        return Ok(named);
    }
    if let Some(named) = read_escape(text, fold_case)? {
        return Ok(named);
    }
    let (low, mut rest) = read_member_char(bracket, text)?;
    let mut high = low;
    // `[a-]` holds a plain dash.
    if rest.len() >= 2 && rest.starts_with('-') && !rest.starts_with("-]") {
        (high, rest) = read_member_char(bracket, &rest[1..])?;
        if high < low {
            let range = &text[..text.len() - rest.len()];
            return Err(PatternError::new(PatternFault::InvalidCharRange, range));
        }
    }
    Ok((signed(between(low, high), fold_case, false), rest))
}

fn read_member_char<'p>(bracket: &'p str, text: &'p str) -> Result<(u32, &'p str), PatternError> {
    match text.chars().next() {
        None => Err(PatternError::new(PatternFault::MissingBracket, bracket)),
        Some('\\') => escape::read(text),
        Some(character) => Ok((u32::from(character), &text[character.len_utf8()..])),
    }
}

/// Reads a set-valued escape (`\d`, `\W`, `\pL`, `\P{Greek}`…) at the start of `text`, if there is one.
pub(super) fn read_escape(
    text: &str,
    fold_case: bool,
) -> Result<Option<(ClassUnicode, &str)>, PatternError> {
    let Some(after) = text.strip_prefix('\\') else {
        return Ok(None);
    };
    let Some(kind) = after.chars().next() else {
        return Ok(None);
    };
    let ranges: &[(char, char)] = match kind.to_ascii_lowercase() {
        'd' => &[('0', '9')],
        's' => &[('\t', '\n'), ('\x0c', '\r'), (' ', ' ')],
        'w' => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        'p' => return read_unicode(text, fold_case).map(Some),
        _ => return Ok(None),
    };
    let set = signed(of(ranges), fold_case, kind.is_ascii_uppercase());
    Ok(Some((set, &after[1..])))
}

/// Reads `[:name:]` at the start of `text`. A `[:` that is never closed is two ordinary characters.
fn read_posix(text: &str, fold_case: bool) -> Result<Option<(ClassUnicode, &str)>, PatternError> {
    let Some((name, rest)) = text
        .strip_prefix("[:")
        .and_then(|named| named.split_once(":]"))
    else {
        return Ok(None);
    };
    let (negated, bare) = match name.strip_prefix('^') {
        Some(bare) => (true, bare),
        None => (false, name),
    };
    let Some(ranges) = posix_ranges(bare) else {
        let written = &text[..text.len() - rest.len()];
        return Err(PatternError::new(PatternFault::InvalidCharRange, written));
    };
    Ok(Some((signed(of(ranges), fold_case, negated), rest)))
}

fn posix_ranges(name: &str) -> Option<&'static [(char, char)]> {
    Some(match name {
        "alnum" => &[('0', '9'), ('A', 'Z'), ('a', 'z')],
        "alpha" => &[('A', 'Z'), ('a', 'z')],
        "ascii" => &[('\0', '\x7f')],
        "blank" => &[('\t', '\t'), (' ', ' ')],
        "cntrl" => &[('\0', '\x1f'), ('\x7f', '\x7f')],
        "digit" => &[('0', '9')],
        "graph" => &[('!', '~')],
        "lower" => &[('a', 'z')],
        "print" => &[(' ', '~')],
        "punct" => &[('!', '/'), (':', '@'), ('[', '`'), ('{', '~')],
        "space" => &[('\t', '\r'), (' ', ' ')],
        "upper" => &[('A', 'Z')],
        "word" => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
        "xdigit" => &[('0', '9'), ('A', 'F'), ('a', 'f')],
        _ => return None,
    })
}

/// Reads `\pX`, `\p{Name}`, `\p{^Name}` or the same with `P`.
fn read_unicode(text: &str, fold_case: bool) -> Result<(ClassUnicode, &str), PatternError> {
    let unknown = |written: &str| PatternError::new(PatternFault::InvalidCharRange, written);
    let after = &text[2..];
    let (name, rest) = match after.chars().next() {
        None => return Err(PatternError::new(PatternFault::InvalidCharRange, text)),
        Some('{') => after[1..].split_once('}').ok_or_else(|| unknown(text))?,
        Some(letter) => after.split_at(letter.len_utf8()),
    };
    let (inverted, bare) = match name.strip_prefix('^') {
        Some(bare) => (true, bare),
        None => (false, name),
    };
    let negated = text.starts_with("\\P") != inverted;
    let set = unicode_set(bare).ok_or_else(|| unknown(&text[..text.len() - rest.len()]))?;
    Ok((signed(set, fold_case, negated), rest))
}

/// The general category or script called `name`. Other Unicode properties do not exist in RE2.
fn unicode_set(name: &str) -> Option<ClassUnicode> {
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_- ".contains(&byte);
    if name.is_empty() || !name.bytes().all(is_name) {
        return None;
    }
    parse_property(&format!("gc={name}")).or_else(|| parse_property(&format!("sc={name}")))
}

fn parse_property(property: &str) -> Option<ClassUnicode> {
    let parsed = regex_syntax::parse(&format!("\\p{{{property}}}")).ok()?;
    match parsed.into_kind() {
        HirKind::Class(Class::Unicode(set)) => Some(set),
        _ => None,
    }
}

/// Folding comes before negation: `(?i)[^k]` refuses all three letters that fold to `k`.
fn signed(set: ClassUnicode, fold_case: bool, negated: bool) -> ClassUnicode {
    let mut set = if fold_case { folded(set) } else { set };
    if negated {
        set.negate();
    }
    set
}

/// With all case variants of its members.
fn folded(mut set: ClassUnicode) -> ClassUnicode {
    // Folding visits every code point, so only those that have a case are handed over.
    let mut cased = set.clone();
    cased.intersect(cased_characters());
    cased
        .try_case_fold_simple()
        .expect("the Unicode case tables are compiled in");
    set.union(&cased);
    set
}

/// Every character that any case mapping changes, which includes every one with a case variant.
fn cased_characters() -> &'static ClassUnicode {
    static CASED: OnceLock<ClassUnicode> = OnceLock::new();
    CASED.get_or_init(|| {
        parse_property("Changes_When_Casemapped").expect("the Unicode properties are compiled in")
    })
}

fn of(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(
        ranges
            .iter()
            .map(|&(low, high)| ClassUnicodeRange::new(low, high)),
    )
}

/// The characters from `low` to `high`, leaving out the surrogates in between.
fn between(low: u32, high: u32) -> ClassUnicode {
    const SURROGATE_FIRST: u32 = 0xD800;
    const SURROGATE_LAST: u32 = 0xDFFF;
    let below = (low, high.min(SURROGATE_FIRST - 1));
    let above = (low.max(SURROGATE_LAST + 1), high);
    let ranges = [below, above].into_iter().filter_map(|(low, high)| {
        let (low, high) = (char::from_u32(low)?, char::from_u32(high)?);
        (low <= high).then(|| ClassUnicodeRange::new(low, high))
    });
    ClassUnicode::new(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_only_cased_characters_finds_every_variant_of_every_character() {
        // The planes that hold letters.
        for character in '\0'..='\u{1ffff}' {
            let single = ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
            let mut every_variant = single.clone();
            every_variant
                .try_case_fold_simple()
                .expect("the Unicode case tables are compiled in");
            assert_eq!(folded(single), every_variant, "{character:?}");
        }
    }
}
