//! Reading RFC 3339, with the liberties Go's reader takes.

use super::civil::{days_in_month, days_since_epoch};

/// A timestamp as written, of any year with four digits.
pub(super) struct Written {
    pub(super) unix_seconds: i64,
    pub(super) nanoseconds: u32,
    pub(super) offset_seconds: i32,
}

/// True if the text is a calendar date like `2006-01-02`.
pub fn is_date(text: &str) -> bool {
    matches!(Reader(text.as_bytes()).date(), Some((_, rest)) if rest.0.is_empty())
}

pub(super) fn parse(text: &str) -> Option<Written> {
    let (days, rest) = Reader(text.as_bytes()).date()?;
    let rest = rest.expect(b'T')?;
    let (hours, rest) = rest.short_number()?;
    let (minutes, rest) = rest.expect(b':')?.number(2)?;
    let (seconds, rest) = rest.expect(b':')?.number(2)?;
    if hours > 23 || minutes > 59 || seconds > 59 {
        return None;
    }
    let (nanoseconds, rest) = rest.fraction();
    let offset_seconds = rest.offset()?;
    let local = days * 86_400 + hours * 3600 + minutes * 60 + seconds;
    Some(Written {
        unix_seconds: local - i64::from(offset_seconds),
        nanoseconds,
        offset_seconds,
    })
}

/// Reader over the rest of the text.
struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    fn expect(self, byte: u8) -> Option<Self> {
        match self.0 {
            [first, rest @ ..] if *first == byte => Some(Self(rest)),
            _ => None,
        }
    }

    /// A number of exactly this many digits.
    fn number(self, length: usize) -> Option<(i64, Self)> {
        let (digits, rest) = self.0.split_at_checked(length)?;
        let value = digits.iter().try_fold(0_i64, |value, digit| {
            digit
                .is_ascii_digit()
                .then(|| value * 10 + i64::from(digit - b'0'))
        })?;
        Some((value, Self(rest)))
    }

    /// A number of two digits, or of one if no second digit follows.
    fn short_number(self) -> Option<(i64, Self)> {
        let length = if self.0.get(1).is_some_and(u8::is_ascii_digit) {
            2
        } else {
            1
        };
        self.number(length)
    }

    /// A date, as days since 1970.
    fn date(self) -> Option<(i64, Self)> {
        let (year, rest) = self.number(4)?;
        let (month, rest) = rest.expect(b'-')?.number(2)?;
        let (day, rest) = rest.expect(b'-')?.number(2)?;
        let is_date = (1..=12).contains(&month) && day >= 1 && day <= days_in_month(year, month);
        is_date.then(|| (days_since_epoch(year, month, day), rest))
    }

    /// Digits behind a point or comma, as nanoseconds; digits beyond the ninth are dropped.
    fn fraction(self) -> (u32, Self) {
        let digits = match self.0 {
            [b'.' | b',', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => digits,
            _ => return (0, self),
        };
        let length = digits
            .iter()
            .take_while(|digit| digit.is_ascii_digit())
            .count();
        let (fraction, rest) = digits.split_at(length);
        let padded = fraction
            .iter()
            .copied()
            .chain(std::iter::repeat(b'0'))
            .take(9);
        let nanoseconds = padded.fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
        (nanoseconds, Self(rest))
    }

    /// `Z` or `±hh:mm`, at the end.
    fn offset(self) -> Option<i32> {
        let sign = match self.0 {
            b"Z" => return Some(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return None,
        };
        let (hours, rest) = Self(&self.0[1..]).number(2)?;
        let (minutes, rest) = rest.expect(b':')?.number(2)?;
        let in_range = hours <= 24 && minutes <= 60 && rest.0.is_empty();
        let seconds = i32::try_from(hours * 3600 + minutes * 60).ok()?;
        in_range.then_some(sign * seconds)
    }
}
