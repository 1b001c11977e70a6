//! Compiled schemas: keywords decoded once, patterns and CEL rules compiled.

mod limits;
mod maybe;
mod properties;

use crate::format::Format;
use crate::rules::Rule;
use maybe::{Absent, Maybe};
use serde_json::Value;

pub(crate) use limits::{Bound, Limits, TextPattern};
pub(crate) use properties::Properties;

/// Type of a value; `Any` if the schema sets none.
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

/// `additionalProperties`.
#[derive(Debug)]
pub(crate) enum Additional {
    /// Not specified.
    Unspecified,
    /// `true` or `false`.
    Allowed(bool),
    /// They have this schema.
    Schema(Box<Node>),
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ListKind {
    Atomic,
    Set,
    Map(Vec<Box<str>>),
}

/// Features used at a node or anywhere below it; walks skip subtrees that do not use theirs.
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

/// A compiled schema node. A cluster has many thousands of nodes, and most consist of little more than a type, so rare
/// keywords are behind pointers.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "keywords that are there or not"
)]
pub(crate) struct Node {
    pub(crate) ty: Type,
    pub(crate) format: Option<Format>,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    /// True for an atomic map.
    pub(crate) atomic_map: bool,
    pub(crate) work: Work,
    pub(crate) below: Maybe<Below>,
    pub(crate) limits: Maybe<Limits>,
    pub(crate) extras: Maybe<Extras>,
}

/// The schemas below one.
#[derive(Debug)]
pub(crate) struct Below {
    pub(crate) properties: Properties,
    pub(crate) additional: Additional,
    pub(crate) items: Option<Node>,
}

static NOTHING_BELOW: Below = Below {
    properties: Properties::NONE,
    additional: Additional::Unspecified,
    items: None,
};

impl Absent for Below {
    fn absent() -> &'static Self {
        &NOTHING_BELOW
    }
}

/// Rarely used keywords, boxed together to keep nodes small.
#[derive(Debug)]
pub(crate) struct Extras {
    /// The format as the schema spells it, for messages.
    pub(crate) format_name: String,
    pub(crate) default: Option<Value>,
    pub(crate) list_kind: ListKind,
    pub(crate) alternatives: Option<Box<Alternatives>>,
    pub(crate) rules: Vec<Rule>,
}

static NO_EXTRAS: Extras = Extras {
    format_name: String::new(),
    default: None,
    list_kind: ListKind::Atomic,
    alternatives: None,
    rules: Vec::new(),
};

impl Absent for Extras {
    fn absent() -> &'static Self {
        &NO_EXTRAS
    }
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
    /// The declared fields.
    pub(crate) fn properties(&self) -> &Properties {
        &self.below.properties
    }

    /// `additionalProperties` of the schema.
    pub(crate) fn additional(&self) -> &Additional {
        &self.below.additional
    }

    /// The schema of the elements of a list.
    pub(crate) fn items(&self) -> Option<&Node> {
        self.below.items.as_ref()
    }

    /// Default value.
    pub(crate) fn default(&self) -> Option<&Value> {
        self.extras.default.as_ref()
    }

    /// `x-kubernetes-list-type` of the schema.
    pub(crate) fn list_kind(&self) -> &ListKind {
        &self.extras.list_kind
    }

    /// The format as the schema spells it.
    pub(crate) fn format_name(&self) -> &str {
        &self.extras.format_name
    }

    /// The rules of the value itself.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.extras.rules
    }

    /// The schema of a field: declared, or the one of all fields that are not.
    pub(crate) fn field(&self, name: &str) -> Option<&Node> {
        match (self.properties().get(name), self.additional()) {
            (Some(node), _) => Some(node),
            (None, Additional::Schema(node)) => Some(node),
            (None, _) => None,
        }
    }
}
