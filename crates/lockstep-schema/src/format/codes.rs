//! Formats of identifiers: UUIDs, ISBNs, card numbers, colours.

/// 24 hexadecimal digits.
pub(super) fn is_bson_object_id(text: &str) -> bool {
    text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_uuid3(text: &str) -> bool {
    is_uuid_of(text, b'3', |_| true)
}

pub(super) fn is_uuid4(text: &str) -> bool {
    is_uuid_of(text, b'4', is_variant)
}

pub(super) fn is_uuid5(text: &str) -> bool {
    is_uuid_of(text, b'5', is_variant)
}

fn is_variant(digit: u8) -> bool {
    matches!(digit.to_ascii_lowercase(), b'8' | b'9' | b'a' | b'b')
}

/// A UUID of this version; dashes are optional.
fn is_uuid_of(text: &str, version: u8, variant: impl Fn(u8) -> bool) -> bool {
    use lockstep_gotext::formats::NamedFormat;
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
    NamedFormat::Uuid.validate(text).is_empty() && digits[12] == version && variant(digits[16])
}

/// Digits, with spaces and dashes between them; `last` may also be an `X`.
fn book_digits(text: &str) -> Option<Vec<u32>> {
    let text: String = text
        .chars()
        .filter(|character| !matches!(character, ' ' | '-'))
        .collect();
    let length = text.chars().count();
    let digits = text
        .chars()
        .enumerate()
        .map(|(at, character)| match character {
            'X' if length == 10 && at == 9 => Some(10),
            digit => digit.to_digit(10),
        });
    digits.collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let Some(digits) = book_digits(text).filter(|digits| digits.len() == 10) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .zip((1..=10).rev())
        .map(|(digit, weight)| digit * weight)
        .sum();
    sum.is_multiple_of(11)
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let Some(digits) = book_digits(text).filter(|digits| digits.len() == 13) else {
        return false;
    };
    let sum: u32 = digits
        .iter()
        .zip([1, 3].into_iter().cycle())
        .map(|(digit, weight)| digit * weight)
        .sum();
    sum.is_multiple_of(10)
}

/// Credit card number of a known issuer with a valid check digit; non-digits are ignored as upstream does.
pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: Vec<u32> = text
        .chars()
        .filter_map(|character| character.to_digit(10))
        .collect();
    let leads = |prefix: std::ops::RangeInclusive<u32>, length: usize| {
        let first = digits
            .iter()
            .take(length)
            .fold(0, |number, digit| number * 10 + digit);
        digits.len() >= length && prefix.contains(&first)
    };
    let issued = match digits.len() {
        13 => leads(4..=4, 1),
        14 => leads(300..=305, 3) || leads(36..=36, 2) || leads(38..=38, 2),
        15 => {
            leads(34..=34, 2) || leads(37..=37, 2) || leads(2131..=2131, 4) || leads(1800..=1800, 4)
        }
        16 => {
            leads(4..=4, 1)
                || leads(51..=55, 2)
                || leads(6011..=6011, 4)
                || leads(650..=659, 3)
                || leads(35..=35, 2)
        }
        _ => false,
    };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| luhn(at, *digit))
        .sum();
    issued && sum.is_multiple_of(10)
}

fn luhn(at: usize, digit: u32) -> u32 {
    match (at % 2, digit * 2) {
        (0, _) => digit,
        (_, doubled) if doubled > 9 => doubled - 9,
        (_, doubled) => doubled,
    }
}

/// `123-45-6789`, with dashes, spaces or nothing between.
pub(super) fn is_ssn(text: &str) -> bool {
    let mut rest = text;
    for (at, length) in [3, 2, 4].into_iter().enumerate() {
        if at > 0 {
            rest = rest.strip_prefix(['-', ' ']).unwrap_or(rest);
        }
        let Some((digits, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `rgb(255, 0, 0)`
pub(super) fn is_rgb_color(text: &str) -> bool {
    let inside = text
        .strip_prefix("rgb(")
        .and_then(|rest| rest.strip_suffix(')'));
    let Some(inside) = inside else {
        return false;
    };
    let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
    let is_part = |part: &&str| {
        let plain = *part == "0"
            || (!part.starts_with('0') && part.bytes().all(|byte| byte.is_ascii_digit()));
        plain && part.parse::<u8>().is_ok()
    };
    parts.len() == 3 && parts.iter().all(is_part)
}
