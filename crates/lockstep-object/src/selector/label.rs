//! Label selectors.

use crate::field::{FieldError, FieldErrors, Path};
use crate::names;
use serde_json::{Map, Value};
use std::fmt;

/// Operator of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `=`
    Equals,
    /// `==`
    DoubleEquals,
    /// `!=`
    NotEquals,
    /// `in`
    In,
    /// `notin`
    NotIn,
    /// `key`
    Exists,
    /// `!key`
    DoesNotExist,
    /// `>`
    GreaterThan,
    /// `<`
    LessThan,
}

/// Label lookup.
pub trait Labels {
    /// The value of a label.
    fn label(&self, key: &str) -> Option<&str>;
}

impl Labels for Map<String, Value> {
    fn label(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }
}

impl Labels for [(&str, &str)] {
    fn label(&self, key: &str) -> Option<&str> {
        self.iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| *value)
    }
}

/// One requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelRequirement {
    key: Box<str>,
    operator: Operator,
    /// Sorted, each once.
    values: Vec<Box<str>>,
}

impl LabelRequirement {
    /// A requirement that keeps the rules of keys, values and operators; otherwise everything that is wrong.
    pub fn new(
        key: &str,
        operator: Operator,
        values: impl IntoIterator<Item = impl Into<Box<str>>>,
        path: &Path<'_>,
    ) -> Result<Self, FieldErrors> {
        let mut values: Vec<Box<str>> = values.into_iter().map(Into::into).collect();
        values.sort_unstable();
        values.dedup();
        let requirement = Self {
            key: key.into(),
            operator,
            values,
        };
        let errors = requirement.check(path);
        if errors.is_empty() {
            Ok(requirement)
        } else {
            Err(errors)
        }
    }

    fn check(&self, path: &Path<'_>) -> FieldErrors {
        let mut errors = FieldErrors::new();
        let problems = names::qualified_name(&self.key);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(
                &path.field("key"),
                &*self.key,
                problems.join("; "),
            ));
        }
        let path = path.field("values");
        if let Some(problem) = self.wrong_number_of_values() {
            let values: Vec<&str> = self.values.iter().map(|value| &**value).collect();
            errors.push(FieldError::invalid(&path, &*values, problem));
        }
        for (index, value) in self.values.iter().enumerate() {
            let path = path.index(index);
            if matches!(self.operator, Operator::GreaterThan | Operator::LessThan)
                && value.parse::<i64>().is_err()
            {
                let problem = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(FieldError::invalid(&path, &**value, problem));
            }
            let problems = names::label_value(value);
            if !problems.is_empty() {
                errors.push(FieldError::invalid(
                    &path.key(&self.key),
                    &**value,
                    problems.join("; "),
                ));
            }
        }
        errors
    }

    fn wrong_number_of_values(&self) -> Option<&'static str> {
        let (right, problem) = match self.operator {
            Operator::In | Operator::NotIn => (
                !self.values.is_empty(),
                "for 'in', 'notin' operators, values set can't be empty",
            ),
            Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => (
                self.values.len() == 1,
                "exact-match compatibility requires one single value",
            ),
            Operator::Exists | Operator::DoesNotExist => (
                self.values.is_empty(),
                "values set must be empty for exists and does not exist",
            ),
            Operator::GreaterThan | Operator::LessThan => (
                self.values.len() == 1,
                "for 'Gt', 'Lt' operators, exactly one value is required",
            ),
        };
        (!right).then_some(problem)
    }

    /// The key.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The operator.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, sorted.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|value| &**value)
    }

    /// True if labels satisfy this requirement.
    pub fn matches<L: Labels + ?Sized>(&self, labels: &L) -> bool {
        let found = labels.label(&self.key);
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                found.is_some_and(|value| self.has(value))
            }
            Operator::NotIn | Operator::NotEquals => !found.is_some_and(|value| self.has(value)),
            Operator::Exists => found.is_some(),
            Operator::DoesNotExist => found.is_none(),
            Operator::GreaterThan => self
                .compare(found)
                .is_some_and(|(found, limit)| found > limit),
            Operator::LessThan => self
                .compare(found)
                .is_some_and(|(found, limit)| found < limit),
        }
    }

    fn has(&self, value: &str) -> bool {
        self.values.iter().any(|wanted| **wanted == *value)
    }

    fn compare(&self, found: Option<&str>) -> Option<(i64, i64)> {
        let limit = self.values.first()?.parse().ok()?;
        Some((found?.parse().ok()?, limit))
    }
}

impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, values, .. } = self;
        let values = values.join(",");
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// Label selector: all requirements must match. An empty selector matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    /// Sorted by key.
    requirements: Vec<LabelRequirement>,
}

impl LabelSelector {
    /// All of these requirements.
    pub fn new(mut requirements: Vec<LabelRequirement>) -> Self {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Self { requirements }
    }

    /// The requirements, sorted by key.
    pub fn requirements(&self) -> &[LabelRequirement] {
        &self.requirements
    }

    /// True for the empty selector.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// True if labels satisfy all requirements.
    pub fn matches<L: Labels + ?Sized>(&self, labels: &L) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(labels))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            if at > 0 {
                f.write_str(",")?;
            }
            write!(f, "{requirement}")?;
        }
        Ok(())
    }
}
