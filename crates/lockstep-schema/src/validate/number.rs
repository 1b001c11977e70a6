//! Numbers: ranges of formats, bounds, multiples.

use super::findings::{Findings, Name};
use crate::format::Format;
use crate::node::{Bound, Node, Type};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::go;
use serde_json::{Number, Value};

pub(super) fn validate(
    node: &Node,
    number: &Number,
    path: &Path<'_>,
    findings: &mut Findings,
) -> u32 {
    let mut check = Check {
        node,
        path,
        number,
        value: number.as_f64().unwrap_or(f64::NAN),
        integer: number.as_i64(),
        findings,
    };
    check.range();
    check.multiple();
    check.bound(node.limits.minimum, Side::Minimum);
    check.bound(node.limits.maximum, Side::Maximum);
    2
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Minimum,
    Maximum,
}

struct Check<'a> {
    node: &'a Node,
    path: &'a Path<'a>,
    number: &'a Number,
    value: f64,
    integer: Option<i64>,
    findings: &'a mut Findings,
}

impl Check<'_> {
    fn name(&self) -> Name<'_> {
        Name(self.path, self.findings.base())
    }

    fn invalid(&mut self, detail: String) {
        let (path, number) = (self.path, self.number);
        self.findings.push(|| {
            let value = Value::Number(number.clone());
            FieldError::invalid(path, &value, detail)
        });
    }

    /// The number itself.
    fn range(&mut self) {
        let fits = match self.integer {
            Some(integer) => self.fits_integer(integer),
            None => self.fits_double(self.value),
        };
        self.tell_range(fits, "Checked");
    }

    fn tell_range(&mut self, fits: bool, what: &str) {
        if fits {
            return;
        }
        let ty = self.node.ty.name();
        let format = match self.node.format {
            Some(format @ (Format::Int32 | Format::Int64 | Format::Float | Format::Double)) => {
                format!("with format {}", format.name(""))
            }
            _ => "(default format)".to_owned(),
        };
        let detail = format!(
            "{what} value must be of type {ty} {format} in {}",
            self.name()
        );
        self.findings
            .push(|| FieldError::invalid(&Path::ROOT, "", detail));
    }

    fn fits_integer(&self, integer: i64) -> bool {
        match (self.node.ty, self.node.format) {
            (Type::Integer, Some(Format::Int32)) => i32::try_from(integer).is_ok(),
            _ => true,
        }
    }

    /// True if a double is within the range of type and format.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range was looked at before"
    )]
    fn fits_double(&self, value: f64) -> bool {
        const INTEGER_MAX: f64 = 9_223_372_036_854_775_808.0;
        match (self.node.ty, self.node.format) {
            (Type::Integer, _) => {
                let whole = value.fract() == 0.0 && value.abs() < INTEGER_MAX;
                whole && self.fits_integer(value as i64)
            }
            (Type::Number, Some(Format::Float)) => value.abs() <= f64::from(f32::MAX),
            _ => true,
        }
    }

    /// Integers are compared as integers when the limit is one.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a limit that does not fit was reported before"
    )]
    fn limit(&mut self, limit: f64, what: &str) -> Limit {
        let fits = self.fits_double(limit);
        self.tell_range(fits, what);
        match self.integer {
            Some(integer) if fits => Limit::Integer(integer, limit as i64),
            _ => Limit::Double(self.value, limit),
        }
    }

    fn bound(&mut self, bound: Option<Bound>, side: Side) {
        let Some(Bound { limit, exclusive }) = bound else {
            return;
        };
        let what = match side {
            Side::Minimum => "Minimum boundary",
            Side::Maximum => "Maximum boundary",
        };
        let limit = self.limit(limit, what);
        let order = limit.order();
        let wrong = match side {
            Side::Minimum => order == Some(std::cmp::Ordering::Less),
            Side::Maximum => order == Some(std::cmp::Ordering::Greater),
        };
        if wrong || (exclusive && order == Some(std::cmp::Ordering::Equal)) {
            let (word, equal) = match side {
                Side::Minimum => ("greater", "greater than or equal to"),
                Side::Maximum => ("less", "less than or equal to"),
            };
            let relation = if exclusive {
                format!("{word} than")
            } else {
                equal.to_owned()
            };
            self.invalid(format!(
                "{} in body should be {relation} {}",
                self.name(),
                limit.text()
            ));
        }
    }

    fn multiple(&mut self) {
        let Some(factor) = self.node.limits.multiple_of else {
            return;
        };
        let limit = self.limit(factor, "MultipleOf");
        let holds = match limit {
            Limit::Integer(_, factor) if factor <= 0 => None,
            Limit::Double(_, factor) if factor <= 0.0 => None,
            Limit::Integer(value, factor) => Some(value % factor == 0),
            Limit::Double(value, factor) => {
                let quotient = if factor < 1.0 {
                    1.0 / factor * value
                } else {
                    value / factor
                };
                Some(is_json_integer(quotient))
            }
        };
        match holds {
            Some(true) => {}
            Some(false) => self.invalid(format!(
                "{} in body should be a multiple of {}",
                self.name(),
                limit.text()
            )),
            None => {
                let detail = format!(
                    "factor MultipleOf declared for {} must be positive: {}",
                    self.name(),
                    limit.text()
                );
                self.invalid(detail);
            }
        }
    }
}

/// A value and the limit it is compared with.
#[derive(Clone, Copy)]
enum Limit {
    Integer(i64, i64),
    Double(f64, f64),
}

impl Limit {
    fn order(self) -> Option<std::cmp::Ordering> {
        match self {
            Self::Integer(value, limit) => Some(value.cmp(&limit)),
            Self::Double(value, limit) => value.partial_cmp(&limit),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Integer(_, limit) => limit.to_string(),
            Self::Double(_, limit) => go::double(limit),
        }
    }
}

/// True if a double is an integer within the precision of doubles.
fn is_json_integer(value: f64) -> bool {
    const INTEGER_MAX: f64 = 9_007_199_254_740_991.0;
    if !value.is_finite() || value.abs() > INTEGER_MAX {
        return false;
    }
    let nearest = value.round();
    let difference = (value - nearest).abs();
    value.to_bits() == nearest.to_bits()
        || difference < f64::MIN_POSITIVE
        || difference / (value.abs() + nearest.abs()).min(f64::MAX) < 1e-9
}
