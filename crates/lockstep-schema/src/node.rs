//! A schema in the form that requests are judged by: keywords read once, patterns and rules compiled.

use crate::format::Format;
use crate::rules::Rule;
use lockstep_cel::ext::re2::Pattern;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::OnceLock;

/// The type a value has, or none when anything goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Any,
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    IntOrString,
}

impl Type {
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "" => Self::Any,
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }

    /// The type as messages name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Object => "object",
            Self::Array => "array",
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::IntOrString => "integer,string",
        }
    }

    /// The `type` keyword, which an int-or-string has none of.
    pub(crate) fn keyword(self) -> &'static str {
        match self {
            Self::IntOrString => "",
            other => other.name(),
        }
    }
}

/// What becomes of properties that are not declared.
#[derive(Debug)]
pub(crate) enum Additional {
    /// Nothing is said.
    Unsaid,
    /// `true` or `false`.
    Allowed(bool),
    /// They have this schema.
    Schema(Box<Node>),
}

/// How the elements of a list are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListKind {
    Atomic,
    Set,
    Map(Vec<Box<str>>),
}

/// Which kinds of work there are at a node or anywhere below it; walks skip what has none.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four kinds of work, each there or not"
)]
pub(crate) struct Work {
    pub(crate) defaults: bool,
    pub(crate) lists: bool,
    pub(crate) rules: bool,
    pub(crate) embedded: bool,
}

impl Work {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            defaults: self.defaults || other.defaults,
            lists: self.lists || other.lists,
            rules: self.rules || other.rules,
            embedded: self.embedded || other.embedded,
        }
    }
}

/// One schema.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "keywords that are there or not"
)]
pub(crate) struct Node {
    pub(crate) ty: Type,
    pub(crate) format: Option<Format>,
    /// The format as the schema spells it, for messages.
    pub(crate) format_name: Box<str>,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    pub(crate) properties: BTreeMap<Box<str>, Node>,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Box<Node>>,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) list_kind: ListKind,
    /// Whether an apply owns the map as a whole.
    pub(crate) atomic_map: bool,
    pub(crate) limits: MaybeLimits,
    pub(crate) alternatives: Option<Box<Alternatives>>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) work: Work,
}

/// Limits of a value that may have none: most have none, and a cluster has many nodes.
#[derive(Debug)]
pub(crate) struct MaybeLimits(Option<Box<Limits>>);

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

impl Deref for MaybeLimits {
    type Target = Limits;

    fn deref(&self) -> &Limits {
        self.0.as_deref().unwrap_or(&NO_LIMITS)
    }
}

impl From<Option<Limits>> for MaybeLimits {
    fn from(limits: Option<Limits>) -> Self {
        Self(limits.map(Box::new))
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

    /// What a text should match, if it does not. A pattern that is none is matched by nothing.
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

/// Schemas that hold together, or instead of each other.
#[derive(Debug, Default)]
pub(crate) struct Alternatives {
    pub(crate) all_of: Vec<Node>,
    pub(crate) any_of: Vec<Node>,
    pub(crate) one_of: Vec<Node>,
    pub(crate) not: Option<Node>,
}

impl Node {
    /// The schema of a field: declared, or the one of all fields that are not.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        match (self.properties.get(name), &self.additional) {
            (Some(node), _) => Some(node),
            (None, Additional::Schema(node)) => Some(node),
            (None, _) => None,
        }
    }
}
