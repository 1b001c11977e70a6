//! Kubernetes quantities: exact decimal amounts with a unit suffix.
//!
//! An amount is kept the way upstream keeps it, since policies can see the difference: small amounts as a scaled 64-bit
//! integer, everything else as a decimal of many digits. Only the former answers [`Quantity::is_integer`] with yes.

mod decimal;
mod parse;
mod print;
mod written;

use std::cmp::Ordering;

use decimal::Decimal;
use written::Written;

/// Most digits an amount may need, written out down to its last unit; upstream would try to allocate them all.
pub const QUANTITY_DIGITS_MAX: usize = 10_000;

/// Why a quantity could not be read or computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number followed by a suffix.
    #[error(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )]
    Format,
    /// The text has a suffix and no digits.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The suffix is none of the known ones.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The amount has a fraction, or is beyond 64 bits.
    #[error("cannot convert value to integer")]
    NotAnInteger,
    /// The amount needs more than [`QUANTITY_DIGITS_MAX`] digits.
    #[error("quantity needs more than 10000 digits")]
    TooManyDigits,
}

/// The family of suffixes a quantity is printed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SuffixFamily {
    /// `n u m k M G T P E`
    Decimal,
    /// `Ki Mi Gi Ti Pi Ei`
    Binary,
    /// `e3`
    Exponent,
}

/// An amount; equality and order are by value, whatever the suffix.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Amount,
    family: SuffixFamily,
    /// The text it was read from, when that text is already canonical.
    written: Option<Written>,
}

#[derive(Clone, Debug)]
enum Amount {
    /// `value × 10^exponent`
    Scaled { value: i64, exponent: i32 },
    /// Anything larger or finer.
    Decimal(Decimal),
}

impl Quantity {
    /// Reads a quantity. Amounts finer than a billionth round away from zero, binary ones beyond 64 bits are capped.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        parse::parse(text)
    }

    /// The whole number `value`.
    pub fn from_int(value: i64) -> Self {
        Self {
            amount: Amount::Scaled { value, exponent: 0 },
            family: SuffixFamily::Exponent,
            written: None,
        }
    }

    /// The sum, with this quantity's suffix family unless this quantity is zero.
    pub fn add(&self, other: &Self) -> Result<Self, QuantityError> {
        Ok(Self {
            amount: self.amount.add(&other.amount)?,
            family: if self.sign() == 0 {
                other.family
            } else {
                self.family
            },
            written: None,
        })
    }

    /// The difference, with the suffix family as in [`add`](Self::add).
    pub fn sub(&self, other: &Self) -> Result<Self, QuantityError> {
        let negated = Self {
            amount: other.amount.negated(),
            family: other.family,
            written: None,
        };
        self.add(&negated)
    }

    /// The least whole amount that is not nearer to zero.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        let whole = self.amount.to_decimal().rounded_up_to(0);
        match whole {
            Ok(whole) if whole != self.amount.to_decimal() => Self {
                amount: Amount::Decimal(whole),
                written: None,
                ..self
            },
            _ => self,
        }
    }

    /// −1, 0 or 1.
    pub fn sign(&self) -> i64 {
        match &self.amount {
            Amount::Scaled { value, .. } => value.signum(),
            Amount::Decimal(decimal) => decimal.sign(),
        }
    }

    /// True if [`as_integer`](Self::as_integer) succeeds.
    pub fn is_integer(&self) -> bool {
        self.as_integer().is_ok()
    }

    /// The amount as an integer. As upstream, `1000m` and numbers of 19 digits are not integers.
    pub fn as_integer(&self) -> Result<i64, QuantityError> {
        let Amount::Scaled { value, exponent } = self.amount else {
            return Err(QuantityError::NotAnInteger);
        };
        if value == 0 && exponent >= 0 {
            return Ok(0);
        }
        u32::try_from(exponent)
            .ok()
            .and_then(|exponent| 10_i64.checked_pow(exponent))
            .and_then(|factor| value.checked_mul(factor))
            .ok_or(QuantityError::NotAnInteger)
    }

    /// The nearest double, give or take the rounding of one multiplication; infinite when out of range.
    pub fn as_approximate_float(&self) -> f64 {
        let (base, exponent) = match &self.amount {
            #[expect(
                clippy::cast_precision_loss,
                reason = "the result is approximate by name"
            )]
            Amount::Scaled { value, exponent } => (*value as f64, i64::from(*exponent)),
            Amount::Decimal(decimal) => (decimal.unscaled_float(), decimal.exponent()),
        };
        if exponent == 0 {
            return base;
        }
        base * power_of_ten(exponent)
    }
}

/// `10^exponent` correctly rounded, zero or infinite when out of range.
fn power_of_ten(exponent: i64) -> f64 {
    format!("1e{exponent}").parse().unwrap_or(f64::NAN)
}

impl Amount {
    fn to_decimal(&self) -> Decimal {
        match self {
            Self::Scaled { value, exponent } => Decimal::scaled(*value, i64::from(*exponent)),
            Self::Decimal(decimal) => decimal.clone(),
        }
    }

    fn negated(&self) -> Self {
        if let Self::Scaled { value, exponent } = self
            && let Some(value) = value.checked_neg()
        {
            let exponent = *exponent;
            return Self::Scaled { value, exponent };
        }
        Self::Decimal(self.to_decimal().negated())
    }

    fn add(&self, other: &Self) -> Result<Self, QuantityError> {
        if let Some(sum) = self.add_scaled(other) {
            return Ok(sum);
        }
        self.to_decimal()
            .add(&other.to_decimal())
            .map(Self::Decimal)
    }

    /// Value and exponent of both, if both are scaled integers.
    fn both_scaled(&self, other: &Self) -> Option<[(i64, i32); 2]> {
        match (self, other) {
            (
                &Self::Scaled {
                    value: a,
                    exponent: x,
                },
                &Self::Scaled {
                    value: b,
                    exponent: y,
                },
            ) => Some([(a, x), (b, y)]),
            _ => None,
        }
    }

    /// The sum if it stays a scaled 64-bit integer.
    fn add_scaled(&self, other: &Self) -> Option<Self> {
        let [(a, x), (b, y)] = self.both_scaled(other)?;
        if b == 0 {
            return Some(self.clone());
        }
        if a == 0 {
            return Some(other.clone());
        }
        let exponent = x.min(y);
        let aligned = |value: i64, from: i32| {
            let places = u32::try_from(from.checked_sub(exponent)?).ok()?;
            value.checked_mul(10_i64.checked_pow(places)?)
        };
        let value = aligned(a, x)?.checked_add(aligned(b, y)?)?;
        Some(Self::Scaled { value, exponent })
    }

    /// The order of two scaled integers whose exponents are so near that 128 bits hold both.
    fn cmp_scaled(&self, other: &Self) -> Option<Ordering> {
        let [(a, x), (b, y)] = self.both_scaled(other)?;
        let exponent = x.min(y);
        let aligned = |value: i64, from: i32| {
            let places = u32::try_from(from.checked_sub(exponent)?).ok()?;
            i128::from(value).checked_mul(10_i128.checked_pow(places)?)
        };
        Some(aligned(a, x)?.cmp(&aligned(b, y)?))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        self.cmp_scaled(other)
            .unwrap_or_else(|| self.to_decimal().cmp(&other.to_decimal()))
    }
}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Amount {}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.amount == other.amount
    }
}

impl Eq for Quantity {}
