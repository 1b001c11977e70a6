//! Formats of data rather than names: UUID, base64, date and time.

use crate::timestamp;

pub(super) fn is_uuid(text: &str) -> bool {
    let mut rest = text.as_bytes();
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0
            && let Some(after_dash) = rest.strip_prefix(b"-")
        {
            rest = after_dash;
        }
        let Some((digits, after)) = rest.split_at_checked(length) else {
            return false;
        };
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return false;
        }
        rest = after;
    }
    rest.is_empty()
}

/// Groups of four of the standard alphabet, padded, and at least one group.
pub(super) fn is_base64(text: &str) -> bool {
    let data = text
        .strip_suffix("==")
        .or_else(|| text.strip_suffix('='))
        .unwrap_or(text);
    let in_alphabet = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !text.is_empty() && text.len().is_multiple_of(4) && data.bytes().all(in_alphabet)
}

/// A date, a `T`, a time of day, and `Z` or an offset; upstream allows any separator before the fraction.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut halves = lower.split('t');
    let (Some(date), Some(time)) = (halves.next(), halves.next()) else {
        return false;
    };
    timestamp::is_date(date) && is_time_with_zone(time)
}

fn is_time_with_zone(time: &str) -> bool {
    let Some((clock, rest)) = time.split_at_checked(8) else {
        return false;
    };
    let Some([hours, minutes, seconds]) = clock_parts(clock.as_bytes()) else {
        return false;
    };
    let in_range = hours <= 23 && minutes <= 59 && seconds <= 59;
    in_range && (is_zone(rest) || is_fraction_and_zone(rest))
}

/// The numbers of `00:00:00`.
fn clock_parts(clock: &[u8]) -> Option<[u8; 3]> {
    let number = |at: usize| {
        let [tens, ones] = [clock[at], clock[at + 1]];
        let are_digits = tens.is_ascii_digit() && ones.is_ascii_digit();
        are_digits.then(|| (tens - b'0') * 10 + (ones - b'0'))
    };
    let are_separated = clock.len() == 8 && clock[2] == b':' && clock[5] == b':';
    are_separated.then_some(())?;
    Some([number(0)?, number(3)?, number(6)?])
}

fn is_fraction_and_zone(text: &str) -> bool {
    let mut characters = text.chars();
    let separator = characters.next();
    let digits = characters.as_str();
    let zone = digits.trim_start_matches(|character: char| character.is_ascii_digit());
    separator.is_some_and(|separator| separator != '\n')
        && zone.len() < digits.len()
        && is_zone(zone)
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        b"z" => true,
        [b'+' | b'-', a, b, b':', c, d] => [a, b, c, d].iter().all(|byte| byte.is_ascii_digit()),
        _ => false,
    }
}
