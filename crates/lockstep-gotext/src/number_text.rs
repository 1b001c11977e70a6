//! Number formatting and parsing: `string(x)`, `int(s)` and the verbs of `format`.

/// Most digits behind the point that `format` writes; every double ends well before.
pub const PRECISION_MAX: usize = 1_100;

/// Errors of number conversion, with cel-go's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// Text that is not a number of the type.
    #[error("type conversion error from 'string' to '{0}'")]
    Text(&'static str),
    /// A value outside the signed range.
    #[error("integer overflow")]
    IntOverflow,
    /// A value outside the unsigned range.
    #[error("unsigned integer overflow")]
    UintOverflow,
    /// The requested precision exceeds [`PRECISION_MAX`].
    #[error("precision {0} exceeds maximum allowed precision {PRECISION_MAX}")]
    Precision(usize),
}

/// Form of `%f` and `%e`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberStyle {
    /// The strings library as Kubernetes pins it, written for readers of American English: `1,234.500000`,
    /// `1.234500×10⁰³`, `∞`.
    Kubernetes,
    /// The language's own test suite: `1234.500000`, `1.234500e+03`, `Infinity`.
    Spec,
}

/// `int(string)`: decimal, with an optional sign.
pub fn parse_int(text: &str) -> Result<i64, NumberError> {
    text.parse().map_err(|_| NumberError::Text("int"))
}

/// `uint(string)`: decimal, without a sign.
pub fn parse_uint(text: &str) -> Result<u64, NumberError> {
    let unsigned = Some(text).filter(|text| !text.starts_with('+'));
    unsigned
        .and_then(|text| text.parse().ok())
        .ok_or(NumberError::Text("uint"))
}

/// `double(string)`: decimal notation, `NaN`, or a signed `Inf` or `Infinity` in any case. A number too large is an
/// error, not an infinity.
pub fn parse_double(text: &str) -> Result<f64, NumberError> {
    let refused = NumberError::Text("double");
    let value: f64 = text.parse().map_err(|_| refused)?;
    let has_digits = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_signed_nan = value.is_nan() && text.starts_with(['+', '-']);
    if is_signed_nan || (value.is_infinite() && has_digits) {
        return Err(refused);
    }
    Ok(value)
}

/// `bool(string)`
pub fn parse_bool(text: &str) -> Result<bool, NumberError> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(NumberError::Text("bool")),
    }
}

/// `int(double)`: truncated toward zero; magnitudes of 2^63 and more, and NaN, are errors.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked, the fraction is dropped on purpose"
)]
pub fn double_to_int(value: f64) -> Result<i64, NumberError> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if value > -LIMIT && value < LIMIT {
        return Ok(value as i64);
    }
    Err(NumberError::IntOverflow)
}

/// `uint(double)`: truncated toward zero; negative values, 2^64 and more, and NaN, are errors.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked, the fraction is dropped on purpose"
)]
pub fn double_to_uint(value: f64) -> Result<u64, NumberError> {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    if (0.0..LIMIT).contains(&value) {
        return Ok(value as u64);
    }
    Err(NumberError::UintOverflow)
}

/// `string(double)`: the shortest digits that read back as the same value, with an exponent when it is below −4 or at
/// least 6.
pub fn double_text(value: f64) -> String {
    if let Some(special) = special_text(value, "+Inf", "-Inf") {
        return special.to_owned();
    }
    let (digits, exponent) = shortest_digits(value);
    if (-4..6).contains(&exponent) {
        return format!("{value}");
    }
    format!("{digits}{}", go_exponent(exponent))
}

/// The shortest digits, with a point behind the first, and the exponent. Of two equally near, the even one.
fn shortest_digits(value: f64) -> (String, i32) {
    let (digits, exponent) = split_exponent(&format!("{value:e}"));
    let precision = digits.bytes().filter(u8::is_ascii_digit).count() - 1;
    let to_even = format!("{value:.precision$e}");
    // Rounding to as many digits can step over the edge next to a power of two.
    if to_even.parse() == Ok(value) {
        return split_exponent(&to_even);
    }
    (digits, exponent)
}

fn split_exponent(text: &str) -> (String, i32) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    (digits.to_owned(), exponent.parse().unwrap_or(0))
}

/// The names of the values that have no digits.
fn special_text(
    value: f64,
    infinity: &'static str,
    minus_infinity: &'static str,
) -> Option<&'static str> {
    match value {
        value if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some(infinity),
        f64::NEG_INFINITY => Some(minus_infinity),
        _ => None,
    }
}

/// `e+08`: a sign and at least two digits.
fn go_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

/// The verb `%f`.
pub fn fixed(value: f64, precision: usize, style: NumberStyle) -> Result<String, NumberError> {
    check_precision(precision)?;
    let special = match style {
        NumberStyle::Kubernetes => special_text(value, "∞", "-∞"),
        NumberStyle::Spec => special_text(value, "Infinity", "-Infinity"),
    };
    if let Some(special) = special {
        return Ok(special.to_owned());
    }
    Ok(match style {
        NumberStyle::Kubernetes => with_thousands(&format!("{:.precision$}", unsigned_zero(value))),
        NumberStyle::Spec => format!("{value:.precision$}"),
    })
}

/// The verb `%e`. As Kubernetes pins it, the precision is taken for a width and six digits are always written.
pub fn scientific(value: f64, precision: usize, style: NumberStyle) -> Result<String, NumberError> {
    check_precision(precision)?;
    if style == NumberStyle::Kubernetes {
        let text = match special_text(value, "∞", "-∞") {
            Some(special) => special.to_owned(),
            None => raised_exponent(unsigned_zero(value)),
        };
        return Ok(format!("{text:>precision$}"));
    }
    if let Some(special) = special_text(value, "Infinity", "-Infinity") {
        return Ok(special.to_owned());
    }
    let (digits, exponent) = split_exponent(&format!("{value:.precision$e}"));
    Ok(format!("{digits}{}", go_exponent(exponent)))
}

/// The localised printer writes no sign for negative zero, though it does for what rounds to it.
fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

fn check_precision(precision: usize) -> Result<(), NumberError> {
    if precision > PRECISION_MAX {
        return Err(NumberError::Precision(precision));
    }
    Ok(())
}

/// `1.234568×10⁰⁴`
fn raised_exponent(value: f64) -> String {
    const RAISED: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let (digits, exponent) = split_exponent(&format!("{value:.6e}"));
    let sign = if exponent < 0 { "⁻" } else { "" };
    let raised: String = format!("{:02}", exponent.unsigned_abs())
        .bytes()
        .map(|digit| RAISED[usize::from(digit - b'0')])
        .collect();
    format!("{digits}×10{sign}{raised}")
}

/// With a comma before every third digit in front of the point.
fn with_thousands(plain: &str) -> String {
    let (sign, unsigned) = match plain.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", plain),
    };
    let whole_length = unsigned.find('.').unwrap_or(unsigned.len());
    let (whole, fraction) = unsigned.split_at(whole_length);
    let mut grouped = String::with_capacity(plain.len() + whole.len() / 3);
    for (at, digit) in whole.char_indices() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

/// The letters of `%x` or of `%X`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HexCase {
    /// `%x`
    Lower,
    /// `%X`
    Upper,
}

impl HexCase {
    fn digits(self) -> &'static [u8; 16] {
        match self {
            Self::Lower => b"0123456789abcdef",
            Self::Upper => b"0123456789ABCDEF",
        }
    }
}

/// The verbs `%x` and `%X` on bytes, and on strings as their bytes.
pub fn hex_bytes(bytes: &[u8], case: HexCase) -> String {
    let nibbles = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    nibbles
        .map(|nibble| char::from(case.digits()[usize::from(nibble)]))
        .collect()
}

/// An integer for the verbs that write one in another base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integer {
    /// A CEL `int`.
    Signed(i64),
    /// A CEL `uint`.
    Unsigned(u64),
}

impl Integer {
    fn sign_and_magnitude(self) -> (&'static str, u64) {
        match self {
            Self::Signed(value) if value < 0 => ("-", value.unsigned_abs()),
            Self::Signed(value) => ("", value.unsigned_abs()),
            Self::Unsigned(value) => ("", value),
        }
    }

    /// The verb `%d`.
    pub fn decimal(self) -> String {
        let (sign, magnitude) = self.sign_and_magnitude();
        format!("{sign}{magnitude}")
    }

    /// The verbs `%x` and `%X`: a sign and the magnitude, not two's complement.
    pub fn hex(self, case: HexCase) -> String {
        let (sign, magnitude) = self.sign_and_magnitude();
        match case {
            HexCase::Lower => format!("{sign}{magnitude:x}"),
            HexCase::Upper => format!("{sign}{magnitude:X}"),
        }
    }

    /// The verb `%o`.
    pub fn octal(self) -> String {
        let (sign, magnitude) = self.sign_and_magnitude();
        format!("{sign}{magnitude:o}")
    }

    /// The verb `%b`.
    pub fn binary(self) -> String {
        let (sign, magnitude) = self.sign_and_magnitude();
        format!("{sign}{magnitude:b}")
    }
}
