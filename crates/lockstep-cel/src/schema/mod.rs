//! Schemas of variables: types for the checker, and the decoding of JSON.

mod escape;
mod size;
mod structural;

pub use escape::field_name;
pub(crate) use escape::is_reserved;
pub(crate) use size::Sizes;
pub use structural::Resource;

use crate::types::Type;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The shape of one JSON value.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    /// Type of the value.
    pub shape: Shape,
    /// Maximum length of a string or bytes, or maximum number of elements, if bounded.
    pub max: Option<u64>,
    /// True if the value may be null.
    pub nullable: bool,
    /// A property that is set when the object leaves it out.
    pub has_default: bool,
}

/// Type that a JSON value is decoded as.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// Any JSON, typed when it is seen.
    Any,
    /// An integer or a string, typed when it is seen.
    IntOrString,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `double`, also from JSON integers.
    Double,
    /// `string`, with the longest value of an `enum` in bytes.
    String {
        /// Length of the longest enumerated value.
        longest: Option<u64>,
    },
    /// `bytes`, from base64.
    Bytes,
    /// `duration`, from Go's text form.
    Duration,
    /// `timestamp`, from `2006-01-02`.
    Date,
    /// `timestamp`, from RFC 3339.
    DateTime,
    /// `list(T)`
    List(Arc<Schema>, ListKind),
    /// `map(string, T)`
    Map(Arc<Schema>),
    /// An object with declared fields.
    Object(Arc<ObjectType>),
}

/// List semantics of equality and addition (`x-kubernetes-list-type`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListKind {
    /// Order matters.
    Atomic,
    /// Order does not matter, elements are unique.
    Set,
    /// Order does not matter, elements are known by these fields.
    Map(Box<[Box<str>]>),
}

/// An object type: the name in messages and the visible fields.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectType {
    /// `selfType.spec`, `kubernetes.AdmissionRequest`, `Object.spec`.
    pub name: Arc<str>,
    /// The fields.
    pub fields: Fields,
}

/// Fields of an object type.
#[derive(Debug, Clone, PartialEq)]
pub enum Fields {
    /// These, by their name in expressions.
    Declared(BTreeMap<Box<str>, Property>),
    /// Any, untyped: the `Object…` types of mutations.
    Open,
    /// `variables`: each the type of its expression.
    Typed(BTreeMap<Box<str>, Type>),
}

/// A declared field.
#[derive(Debug, Clone, PartialEq)]
pub struct Property {
    /// The name in JSON.
    pub json_name: Box<str>,
    /// Its shape.
    pub schema: Arc<Schema>,
    /// True if the property is required.
    pub required: bool,
}

impl Schema {
    /// A schema of this shape with no limits.
    pub fn of(shape: Shape) -> Self {
        Self {
            shape,
            max: None,
            nullable: false,
            has_default: false,
        }
    }

    /// Reads a structural schema, such as the one of a CRD version or any node in it.
    ///
    /// `name` is the type name of the outermost object in messages. Nothing is returned when the schema has no
    /// type expressions could use.
    pub fn from_structural(
        schema: &serde_json::Value,
        name: &str,
        resource: Resource,
    ) -> Option<Self> {
        structural::convert(schema, name, resource)
    }

    /// The type expressions see.
    pub fn ty(&self) -> Type {
        match &self.shape {
            Shape::Any | Shape::IntOrString => Type::Dyn,
            Shape::Bool => Type::Bool,
            Shape::Int => Type::Int,
            Shape::Double => Type::Double,
            Shape::String { .. } => Type::String,
            Shape::Bytes => Type::Bytes,
            Shape::Duration => Type::Duration,
            Shape::Date | Shape::DateTime => Type::Timestamp,
            Shape::List(items, _) => Type::list(items.ty()),
            Shape::Map(values) => Type::map(Type::String, values.ty()),
            Shape::Object(object) => Type::Object(Arc::clone(object)),
        }
    }
}

impl ObjectType {
    /// The type of a field, if the object has it.
    pub fn field(&self, name: &str) -> Option<Type> {
        match &self.fields {
            Fields::Declared(fields) => fields.get(name).map(|field| field.schema.ty()),
            Fields::Open => Some(Type::Dyn),
            Fields::Typed(fields) => fields.get(name).cloned(),
        }
    }
}
