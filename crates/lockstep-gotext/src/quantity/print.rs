//! Printing quantities: the canonical form keeps the suffix family and loses no precision.

use std::fmt;

use super::decimal::Decimal;
use super::{Quantity, SuffixFamily};

const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
const BINARY_SUFFIXES: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
/// The power of ten of the last decimal suffix.
const EXA: i64 = 18;

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.written {
            Some(written) => out.write_str(written.as_str()),
            None => write_canonical(out, &self.amount.to_decimal(), self.family),
        }
    }
}

fn write_canonical(
    out: &mut fmt::Formatter<'_>,
    amount: &Decimal,
    family: SuffixFamily,
) -> fmt::Result {
    if amount.sign() == 0 {
        return out.write_str("0");
    }
    if amount.is_negative() {
        out.write_str("-")?;
    }
    match family {
        SuffixFamily::Exponent => write_decimal(out, amount, i64::MAX, |exponent| match exponent {
            0 => String::new(),
            _ => format!("e{exponent}"),
        }),
        SuffixFamily::Binary if is_worth_binary(amount) => write_binary(out, amount),
        _ => write_decimal(out, amount, EXA, |exponent| {
            let index = usize::try_from(exponent / 3 + 3).unwrap_or(0);
            DECIMAL_SUFFIXES
                .get(index)
                .copied()
                .unwrap_or_default()
                .to_owned()
        }),
    }
}

/// Small and fractional amounts read better, and stay exact, with decimal suffixes.
fn is_worth_binary(amount: &Decimal) -> bool {
    let limit = Decimal::scaled(1024, 0);
    let is_small = *amount < limit && *amount > limit.negated();
    let (_, exponent) = amount.stripped();
    !is_small && exponent >= 0
}

/// Digits and an exponent that is a multiple of three and at most `exponent_max`.
fn write_decimal(
    out: &mut fmt::Formatter<'_>,
    amount: &Decimal,
    exponent_max: i64,
    suffix: impl Fn(i64) -> String,
) -> fmt::Result {
    let (mut digits, exponent) = amount.stripped();
    let kept = exponent.min(exponent_max);
    let kept = kept - kept.rem_euclid(3);
    let zeros = usize::try_from(exponent - kept).unwrap_or(0);
    digits.extend(std::iter::repeat_n('0', zeros));
    write!(out, "{digits}{}", suffix(kept))
}

fn write_binary(out: &mut fmt::Formatter<'_>, amount: &Decimal) -> fmt::Result {
    let (digits, exponent) = amount.stripped();
    let zeros = "0".repeat(usize::try_from(exponent).unwrap_or(0));
    let mut whole = Decimal::new(false, format!("{digits}{zeros}").as_bytes(), 0);
    let mut suffix = 0;
    while suffix + 1 < BINARY_SUFFIXES.len()
        && let Some(quotient) = whole.divided_by_1024()
    {
        whole = quotient;
        suffix += 1;
    }
    let (digits, exponent) = whole.stripped();
    let zeros = "0".repeat(usize::try_from(exponent).unwrap_or(0));
    write!(out, "{digits}{zeros}{}", BINARY_SUFFIXES[suffix])
}
