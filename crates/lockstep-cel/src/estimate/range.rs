//! Cost and size ranges with saturating arithmetic.

/// From the least to the most something can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Estimate {
    /// The least.
    pub min: u64,
    /// The most; `u64::MAX` when nothing is known.
    pub max: u64,
}

impl Estimate {
    pub(super) const ZERO: Self = Self::exactly(0);
    pub(super) const ONE: Self = Self::exactly(1);
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };

    pub(super) const fn exactly(value: u64) -> Self {
        Self {
            min: value,
            max: value,
        }
    }

    pub(super) const fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }

    pub(super) fn times(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }

    /// Divided by ten and rounded up, then multiplied: the price of going over a text.
    pub(super) fn tenths(self, count: u64) -> Self {
        Self {
            min: tenths(self.min, count),
            max: tenths(self.max, count),
        }
    }

    /// A quarter, rounded up.
    pub(super) fn quarter(self) -> Self {
        Self {
            min: self.min.div_ceil(4),
            max: self.max.div_ceil(4),
        }
    }

    /// The range that covers both.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// `ceil(value · count / 10)`; an unknown bound stays unknown.
fn tenths(value: u64, count: u64) -> u64 {
    if value == u64::MAX {
        // The product in floating point reaches the next power of two, a tenth of it does not.
        return (u128::from(u64::MAX) + 1)
            .saturating_mul(u128::from(count))
            .div_ceil(10)
            .try_into()
            .unwrap_or(u64::MAX);
    }
    let product = u128::from(value) * u128::from(count);
    u64::try_from(product.div_ceil(10)).unwrap_or(u64::MAX)
}
