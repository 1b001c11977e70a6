//! Reading quantities.

use super::decimal::{Decimal, count};
use super::written::Written;
use super::{Amount, QUANTITY_DIGITS_MAX, Quantity, QuantityError, SuffixFamily};

/// The finest unit: a billionth.
const NANO: i32 = -9;
/// Digits that surely fit a 64-bit integer.
const SAFE_DIGITS: usize = 18;

/// The parts of a quantity's text.
struct Parts<'t> {
    negative: bool,
    /// Before the dot, without leading zeros but never empty.
    whole: &'t str,
    /// After the dot.
    fraction: &'t str,
    suffix: &'t str,
    has_digits: bool,
}

/// Multiplier of a suffix.
struct Unit {
    /// Power of ten, or of two for the binary family.
    exponent: i32,
    family: SuffixFamily,
}

pub(super) fn parse(text: &str) -> Result<Quantity, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let parts = split(text)?;
    let unit = interpret(parts.suffix).ok_or(QuantityError::Suffix)?;
    if let Some(quantity) = parse_scaled(text, &parts, &unit) {
        return Ok(quantity);
    }
    parse_decimal(&parts, &unit)
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = take_while(unsigned, |byte| byte.is_ascii_digit());
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => take_while(rest, |byte| byte.is_ascii_digit()),
        None => ("", rest),
    };
    let (_, exponent) = take_while(suffix, |byte| b"eEinumkKMGTP".contains(&byte));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(QuantityError::Format);
    }
    let significant = whole.trim_start_matches('0');
    Ok(Parts {
        negative,
        whole: if significant.is_empty() {
            "0"
        } else {
            significant
        },
        fraction,
        suffix,
        // A sign alone reads as zero upstream.
        has_digits: !whole.is_empty() || !fraction.is_empty() || unsigned.is_empty(),
    })
}

fn take_while(text: &str, wanted: impl Fn(u8) -> bool) -> (&str, &str) {
    let length = text.bytes().take_while(|&byte| wanted(byte)).count();
    text.split_at(length)
}

fn interpret(suffix: &str) -> Option<Unit> {
    let (exponent, family) = match suffix {
        "n" => (-9, SuffixFamily::Decimal),
        "u" => (-6, SuffixFamily::Decimal),
        "m" => (-3, SuffixFamily::Decimal),
        "" => (0, SuffixFamily::Decimal),
        "k" => (3, SuffixFamily::Decimal),
        "M" => (6, SuffixFamily::Decimal),
        "G" => (9, SuffixFamily::Decimal),
        "T" => (12, SuffixFamily::Decimal),
        "P" => (15, SuffixFamily::Decimal),
        "E" => (18, SuffixFamily::Decimal),
        "Ki" => (10, SuffixFamily::Binary),
        "Mi" => (20, SuffixFamily::Binary),
        "Gi" => (30, SuffixFamily::Binary),
        "Ti" => (40, SuffixFamily::Binary),
        "Pi" => (50, SuffixFamily::Binary),
        "Ei" => (60, SuffixFamily::Binary),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            (exponent.parse().ok()?, SuffixFamily::Exponent)
        }
    };
    Some(Unit { exponent, family })
}

/// The amount as a scaled 64-bit integer, if it surely is one.
fn parse_scaled(text: &str, parts: &Parts<'_>, unit: &Unit) -> Option<Quantity> {
    let digits = parts.whole.len() + parts.fraction.len();
    let is_binary = unit.family == SuffixFamily::Binary;
    let (fits, scale) = if is_binary {
        // Ten bits are about three digits.
        let spent = digits + usize::try_from(unit.exponent * 3 / 10).ok()? + 1;
        (parts.fraction.is_empty() && spent <= 15, 0)
    } else {
        (digits <= SAFE_DIGITS, unit.exponent)
    };
    let exponent = scale.checked_sub(i32::try_from(parts.fraction.len()).ok()?)?;
    if !fits || exponent < NANO {
        return None;
    }
    let unsigned = digits_value(parts)?;
    let multiplied = if is_binary {
        unsigned.checked_mul(1 << unit.exponent)?
    } else {
        unsigned
    };
    let is_canonical = if is_binary {
        unsigned % 8 != 0
    } else {
        exponent % 3 == 0 && unsigned % 1000 != 0 && !parts.whole.starts_with('0')
    };
    let is_bare_zero = text == "0";
    Some(Quantity {
        amount: Amount::Scaled {
            value: if parts.negative {
                -multiplied
            } else {
                multiplied
            },
            exponent,
        },
        family: unit.family,
        written: (is_canonical || is_bare_zero).then(|| Written::new(text)),
    })
}

/// The digits before and after the point as one number, if it fits.
fn digits_value(parts: &Parts<'_>) -> Option<i64> {
    let digits = parts.whole.bytes().chain(parts.fraction.bytes());
    digits
        .map(|digit| i64::from(digit - b'0'))
        .try_fold(0_i64, |value, digit| {
            value.checked_mul(10)?.checked_add(digit)
        })
}

/// The amount as a decimal, rounded up to billionths and capped as upstream does.
fn parse_decimal(parts: &Parts<'_>, unit: &Unit) -> Result<Quantity, QuantityError> {
    let digits = format!("{}{}", parts.whole, parts.fraction);
    if !parts.has_digits {
        return Err(QuantityError::Numeric);
    }
    if digits.len() > QUANTITY_DIGITS_MAX {
        return Err(QuantityError::TooManyDigits);
    }
    let written_exponent = -count(parts.fraction.len());
    let mut family = unit.family;
    let amount = if family == SuffixFamily::Binary {
        Decimal::new(false, digits.as_bytes(), written_exponent)
            .shifted_left(unit.exponent.unsigned_abs())
    } else {
        let exponent = written_exponent + i64::from(unit.exponent);
        Decimal::new(false, digits.as_bytes(), exponent)
    };
    let mut amount = amount.rounded_up_to(i64::from(NANO))?;
    if family == SuffixFamily::Binary {
        amount = amount.min(Decimal::scaled(i64::MAX, 0));
        if amount.sign() > 0 && amount < Decimal::scaled(1, 0) {
            family = SuffixFamily::Decimal;
        }
    }
    Ok(Quantity {
        amount: Amount::Decimal(if parts.negative {
            amount.negated()
        } else {
            amount
        }),
        family,
        written: None,
    })
}
