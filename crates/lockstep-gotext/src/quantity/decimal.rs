//! Signed decimals of many digits: the slow and exact road beside 64-bit arithmetic.

use std::cmp::Ordering;

use super::{QUANTITY_DIGITS_MAX, QuantityError};

/// `±digits × 10^exponent`.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    /// Values 0 to 9, most significant first, without leading zeros; empty for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    pub(super) fn scaled(value: i64, exponent: i64) -> Self {
        let digits = value.unsigned_abs().to_string();
        Self::new(value < 0, digits.as_bytes(), exponent)
    }

    /// From ASCII digits, which may have leading zeros.
    pub(super) fn new(negative: bool, ascii_digits: &[u8], exponent: i64) -> Self {
        let digits = ascii_digits
            .iter()
            .map(|digit| digit - b'0')
            .skip_while(|&digit| digit == 0)
            .collect::<Vec<_>>();
        Self {
            negative: negative && !digits.is_empty(),
            digits,
            exponent,
        }
    }

    pub(super) fn exponent(&self) -> i64 {
        self.exponent
    }

    pub(super) fn sign(&self) -> i64 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn negated(mut self) -> Self {
        self.negative = !self.negative && !self.digits.is_empty();
        self
    }

    /// The digits as ASCII, with trailing zeros moved into the exponent.
    pub(super) fn stripped(&self) -> (String, i64) {
        let zeros = self
            .digits
            .iter()
            .rev()
            .take_while(|&&digit| digit == 0)
            .count();
        let kept = &self.digits[..self.digits.len() - zeros];
        let text = kept.iter().map(|digit| char::from(b'0' + digit)).collect();
        (text, self.exponent + count(zeros))
    }

    /// The nearest double to the digits alone, without the exponent.
    pub(super) fn unscaled_float(&self) -> f64 {
        let text: String = self
            .digits
            .iter()
            .map(|digit| char::from(b'0' + digit))
            .collect();
        let magnitude = text.parse().unwrap_or(0.0);
        if self.negative { -magnitude } else { magnitude }
    }

    /// Rescales to exactly this exponent; digits below it round away from zero. Zero stays as it is.
    pub(super) fn rounded_up_to(mut self, exponent: i64) -> Result<Self, QuantityError> {
        if self.digits.is_empty() {
            return Ok(self);
        }
        if self.exponent >= exponent {
            return self.aligned_to(exponent);
        }
        let dropped = usize::try_from(exponent - self.exponent).unwrap_or(usize::MAX);
        let kept = self.digits.len().saturating_sub(dropped);
        let exact = self.digits[kept..].iter().all(|&digit| digit == 0);
        self.digits.truncate(kept);
        if !exact {
            self.digits = add_digits(&self.digits, &[1]);
        }
        self.exponent = exponent;
        Ok(self)
    }

    /// Rescales to a lower or equal exponent, which loses nothing.
    fn aligned_to(mut self, exponent: i64) -> Result<Self, QuantityError> {
        if !self.digits.is_empty() {
            let zeros = usize::try_from(self.exponent - exponent).unwrap_or(usize::MAX);
            let length = self.digits.len().saturating_add(zeros);
            if length > QUANTITY_DIGITS_MAX {
                return Err(QuantityError::TooManyDigits);
            }
            self.digits.resize(length, 0);
        }
        self.exponent = exponent;
        Ok(self)
    }

    pub(super) fn add(&self, other: &Self) -> Result<Self, QuantityError> {
        let exponent = self.exponent.min(other.exponent);
        let a = self.clone().aligned_to(exponent)?;
        let b = other.clone().aligned_to(exponent)?;
        let (negative, digits) = if a.negative == b.negative {
            (a.negative, add_digits(&a.digits, &b.digits))
        } else {
            match compare_digits(&a.digits, &b.digits) {
                Ordering::Less => (b.negative, subtract_digits(&b.digits, &a.digits)),
                _ => (a.negative, subtract_digits(&a.digits, &b.digits)),
            }
        };
        Ok(Self {
            negative: negative && !digits.is_empty(),
            digits,
            exponent,
        })
    }

    /// Multiplies by `2^power`.
    pub(super) fn shifted_left(mut self, power: u32) -> Self {
        for _ in 0..power / 10 {
            self.digits = multiply_digits(&self.digits, 1024);
        }
        self.digits = multiply_digits(&self.digits, 1 << (power % 10));
        self
    }

    /// Divides by 1024 if the value is a whole multiple of it.
    pub(super) fn divided_by_1024(&self) -> Option<Self> {
        let mut remainder = 0_u32;
        let mut quotient = Vec::with_capacity(self.digits.len());
        for &digit in &self.digits {
            let value = remainder * 10 + u32::from(digit);
            quotient.push(b'0' + u8::try_from(value / 1024).ok()?);
            remainder = value % 1024;
        }
        (remainder == 0).then(|| Self::new(self.negative, &quotient, self.exponent))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign != Ordering::Equal || self.digits.is_empty() {
            return by_sign;
        }
        // Position of the most significant digit first, so that no zeros need to be written out.
        let top = |decimal: &Self| decimal.exponent + count(decimal.digits.len());
        let by_magnitude = top(self).cmp(&top(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let padded = |digits: &[u8], at: usize| digits.get(at).copied().unwrap_or(0);
            (0..length)
                .map(|at| padded(&self.digits, at).cmp(&padded(&other.digits, at)))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        if self.negative {
            by_magnitude.reverse()
        } else {
            by_magnitude
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

/// A number of digits, as an exponent.
pub(super) fn count(digits: usize) -> i64 {
    i64::try_from(digits).expect("digits fit memory, and memory fits 63 bits")
}

/// Orders two digit strings without leading zeros.
fn compare_digits(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

fn add_digits(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut sum = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0;
    let (mut a, mut b) = (a.iter().rev(), b.iter().rev());
    loop {
        let (x, y) = (a.next(), b.next());
        if x.is_none() && y.is_none() && carry == 0 {
            break;
        }
        let digit = x.copied().unwrap_or(0) + y.copied().unwrap_or(0) + carry;
        sum.push(digit % 10);
        carry = digit / 10;
    }
    sum.reverse();
    sum
}

/// `larger − smaller`, without leading zeros.
fn subtract_digits(larger: &[u8], smaller: &[u8]) -> Vec<u8> {
    let mut difference = Vec::with_capacity(larger.len());
    let mut borrow = 0;
    let mut smaller = smaller.iter().rev();
    for &digit in larger.iter().rev() {
        let taken = smaller.next().copied().unwrap_or(0) + borrow;
        borrow = u8::from(digit < taken);
        difference.push(digit + 10 * borrow - taken);
    }
    while difference.last() == Some(&0) {
        difference.pop();
    }
    difference.reverse();
    difference
}

fn multiply_digits(digits: &[u8], factor: u32) -> Vec<u8> {
    let mut product = Vec::with_capacity(digits.len() + 4);
    let mut carry = 0;
    for &digit in digits.iter().rev() {
        let value = u32::from(digit) * factor + carry;
        product.push((value % 10) as u8);
        carry = value / 10;
    }
    while carry > 0 {
        product.push((carry % 10) as u8);
        carry /= 10;
    }
    product.reverse();
    product
}
