//! Compilation of a JSON schema to a [`Node`].

use crate::format::Format;
use crate::keywords::{entries, flag, given, integer, list, number, schema, text, texts};
use crate::node::{
    Additional, Alternatives, Below, Bound, Extras, Limits, ListKind, Node, TextPattern, Type, Work,
};
use crate::rules;
use lockstep_cel::Version;
use serde_json::Value;

/// Maximum nesting depth of schemas.
pub const SCHEMA_DEPTH_MAX: usize = 100;

/// Errors of compiling a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompileError {
    /// Nested deeper than [`SCHEMA_DEPTH_MAX`].
    #[error("the schema is nested deeper than {SCHEMA_DEPTH_MAX} levels")]
    Depth,
    /// A type that no value has.
    #[error("`{0}` is not a type")]
    Type(String),
}

/// Position of a schema in the resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The whole resource.
    Root,
    /// Anything below.
    Part,
    /// Inside `anyOf` and its siblings, where nothing but values is judged.
    Alternative,
}

/// Compiles a schema that is stored, so that everything an old version allowed still runs.
pub(crate) fn compile(json: &Value, place: Place, version: Version) -> Result<Node, CompileError> {
    compile_at(json, place, version, SCHEMA_DEPTH_MAX)
}

fn compile_at(
    json: &Value,
    place: Place,
    version: Version,
    depth: usize,
) -> Result<Node, CompileError> {
    let depth = depth.checked_sub(1).ok_or(CompileError::Depth)?;
    let part = |json: &Value| {
        let place = if place == Place::Alternative {
            place
        } else {
            Place::Part
        };
        compile_at(json, place, version, depth)
    };
    let alternative = |json: &Value| compile_at(json, Place::Alternative, version, depth);
    let ty = value_type(json)?;
    let properties = entries(json, "properties")
        .map(|(name, property)| Ok((name.as_str(), part(property)?)))
        .collect::<Result<_, CompileError>>()?;
    let additional = match json.get("additionalProperties") {
        Some(Value::Bool(allowed)) => Additional::Allowed(*allowed),
        Some(schema @ Value::Object(_)) => Additional::Schema(Box::new(part(schema)?)),
        _ => Additional::Unspecified,
    };
    let below = Below {
        properties,
        additional,
        items: schema(json, "items").map(part).transpose()?,
    };
    let all = |keyword: &str| {
        list(json, keyword)
            .iter()
            .map(alternative)
            .collect::<Result<Vec<_>, _>>()
    };
    let alternatives = Alternatives {
        all_of: all("allOf")?,
        any_of: all("anyOf")?,
        one_of: all("oneOf")?,
        not: schema(json, "not").map(alternative).transpose()?,
    };
    let compiled_rules = match place {
        Place::Alternative => Vec::new(),
        Place::Root | Place::Part => rules::compile_all(json, place == Place::Root, version),
    };
    let extras = Extras {
        format_name: text(json, "format").into(),
        default: given(json, "default").cloned(),
        list_kind: list_kind(json),
        alternatives: alternatives.any().then(|| Box::new(alternatives)),
        rules: compiled_rules,
    };
    let mut node = Node {
        ty,
        format: Format::of(text(json, "format"), ty, version),
        nullable: flag(json, "nullable"),
        preserve_unknown: flag(json, "x-kubernetes-preserve-unknown-fields"),
        embedded: flag(json, "x-kubernetes-embedded-resource"),
        atomic_map: text(json, "x-kubernetes-map-type") == "atomic",
        work: Work::default(),
        below: below.any().then_some(below).into(),
        limits: limits(json).into(),
        extras: extras.any().then_some(extras).into(),
    };
    node.work = work(&node);
    Ok(node)
}

fn value_type(json: &Value) -> Result<Type, CompileError> {
    if flag(json, "x-kubernetes-int-or-string") {
        return Ok(Type::IntOrString);
    }
    let name = text(json, "type");
    Type::named(name).ok_or_else(|| CompileError::Type(name.to_owned()))
}

fn list_kind(json: &Value) -> ListKind {
    match text(json, "x-kubernetes-list-type") {
        "set" => ListKind::Set,
        "map" => ListKind::Map(
            texts(json, "x-kubernetes-list-map-keys")
                .map(Into::into)
                .collect(),
        ),
        _ => ListKind::Atomic,
    }
}

/// The keywords that limit a value.
const LIMITING: [&str; 13] = [
    "enum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "required",
    "uniqueItems",
];

fn limits(json: &Value) -> Option<Limits> {
    if !LIMITING.iter().any(|keyword| json.get(keyword).is_some()) {
        return None;
    }
    let bound = |keyword: &str, exclusive: &str| {
        number(json, keyword).map(|limit| Bound {
            limit,
            exclusive: flag(json, exclusive),
        })
    };
    let pattern = match text(json, "pattern") {
        "" => None,
        pattern => Some(TextPattern::new(pattern)),
    };
    Some(Limits {
        maximum: bound("maximum", "exclusiveMaximum"),
        minimum: bound("minimum", "exclusiveMinimum"),
        multiple_of: number(json, "multipleOf"),
        max_length: integer(json, "maxLength"),
        min_length: integer(json, "minLength"),
        pattern,
        max_items: integer(json, "maxItems"),
        min_items: integer(json, "minItems"),
        unique_items: flag(json, "uniqueItems"),
        max_properties: integer(json, "maxProperties"),
        min_properties: integer(json, "minProperties"),
        required: texts(json, "required").map(Into::into).collect(),
        enumeration: list(json, "enum").to_vec(),
    })
}

impl Below {
    fn any(&self) -> bool {
        let says_more = !matches!(self.additional, Additional::Unspecified);
        says_more || self.items.is_some() || !self.properties.is_empty()
    }
}

impl Extras {
    fn any(&self) -> bool {
        let has_name = !self.format_name.is_empty();
        let is_told_apart = self.list_kind != ListKind::Atomic;
        let has_more = self.default.is_some() || self.alternatives.is_some();
        has_name || is_told_apart || has_more || !self.rules.is_empty()
    }
}

impl Alternatives {
    fn any(&self) -> bool {
        let lists = [&self.all_of, &self.any_of, &self.one_of];
        self.not.is_some() || lists.iter().any(|list| !list.is_empty())
    }
}

fn work(node: &Node) -> Work {
    let own = Work {
        defaults: node.default().is_some(),
        lists: *node.list_kind() != ListKind::Atomic,
        rules: !node.rules().is_empty(),
        embedded: node.embedded,
    };
    let additional = match node.additional() {
        Additional::Schema(node) => Some(&**node),
        Additional::Unspecified | Additional::Allowed(_) => None,
    };
    let properties = node.properties().iter().map(|(_, property)| property);
    let below = properties.chain(additional).chain(node.items());
    below.fold(own, |work, below| work.and(below.work))
}
