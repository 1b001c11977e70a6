//! Value constraints of a schema.

use super::maybe::Absent;
use lockstep_gotext::re2::Pattern;
use serde_json::Value;
use std::sync::OnceLock;

static NO_LIMITS: Limits = Limits {
    maximum: None,
    minimum: None,
    multiple_of: None,
    max_length: None,
    min_length: None,
    pattern: None,
    max_items: None,
    min_items: None,
    unique_items: false,
    max_properties: None,
    min_properties: None,
    required: Vec::new(),
    enumeration: Vec::new(),
};

impl Absent for Limits {
    fn absent() -> &'static Self {
        &NO_LIMITS
    }
}

/// Limits of one value.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) maximum: Option<Bound>,
    pub(crate) minimum: Option<Bound>,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) pattern: Option<TextPattern>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) unique_items: bool,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) required: Vec<Box<str>>,
    pub(crate) enumeration: Vec<Value>,
}

/// A pattern, compiled when the first text is judged by it: most schemas of a cluster are never used, and compiled
/// patterns are large.
#[derive(Debug)]
pub(crate) struct TextPattern {
    text: Box<str>,
    compiled: OnceLock<Result<Pattern, String>>,
}

impl TextPattern {
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            compiled: OnceLock::new(),
        }
    }

    /// The pattern, if a text does not match it. An invalid pattern matches nothing.
    pub(crate) fn mismatch(&self, text: &str) -> Option<String> {
        let compile = || Pattern::compile(&self.text).map_err(|error| error.to_string());
        match self.compiled.get_or_init(compile) {
            Ok(pattern) if pattern.is_match(text) => None,
            Ok(_) => Some(self.text.to_string()),
            Err(problem) => Some(format!("{}, but pattern is invalid: {problem}", self.text)),
        }
    }
}

/// A largest or smallest number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) limit: f64,
    pub(crate) exclusive: bool,
}
