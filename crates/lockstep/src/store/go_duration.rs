//! Durations as Go writes them.

use std::time::Duration;

/// Units by their names, in nanoseconds; a name that begins with another comes first.
const UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// `1h15m30.918s`; none for anything else, negative ones included.
pub(super) fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() || total == Duration::ZERO && text.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(digits);
        let (unit, nanos) = UNITS.iter().find(|(unit, _)| behind.starts_with(unit))?;
        total = total.checked_add(part(number, *nanos)?)?;
        rest = &behind[unit.len()..];
    }
    Some(total)
}

fn part(number: &str, nanos: u64) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() {
        0
    } else {
        whole.parse().ok()?
    };
    let mut sum = whole.checked_mul(nanos)?;
    let mut place = nanos;
    for digit in fraction.bytes() {
        place /= 10;
        sum = sum.checked_add(u64::from(digit - b'0') * place)?;
    }
    Some(Duration::from_nanos(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let read = |text| parse(text).map(|duration| duration.as_nanos());
        for (text, nanos) in [
            ("0", 0),
            ("0s", 0),
            ("1ns", 1),
            ("2us", 2_000),
            ("2µs", 2_000),
            ("1.5s", 1_500_000_000),
            (".5s", 500_000_000),
            ("1h15m30.918s", 4_530_918_000_000),
            ("100ms", 100_000_000),
        ] {
            assert_eq!(read(text), Some(nanos), "{text}");
        }
        for text in [
            "",
            "1",
            "s",
            "1x",
            "-1s",
            "1.2.3s",
            ".s",
            "99999999999h",
            "1s ",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
