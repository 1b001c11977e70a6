//! Types as a merge sees them: what is owned as a whole, what field by field, and which lists are told apart by keys.

mod builtin;
mod custom;

use std::collections::BTreeMap;

use serde_json::Value;

pub use builtin::BuiltInTypes;

/// Types that refer to each other. Never changes once it is built.
#[derive(Debug, Default)]
pub struct Types {
    shapes: Vec<Shape>,
}

/// Which of the types.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ShapeId(u32);

/// One type.
#[derive(Debug, Clone, Copy)]
pub struct Type<'t> {
    types: &'t Types,
    id: ShapeId,
}

/// What a value of a type may be: a scalar, a list, a map, or several of these, of which the value decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shape {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Fields>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text,
    Number,
    Boolean,
    /// Any of them.
    Any,
}

#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) items: ShapeId,
    pub(crate) relation: Relation,
}

/// How the elements of a list are told apart.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Relation {
    /// Not at all: the list is one value.
    Atomic,
    /// By their values.
    Set,
    /// By the values of these fields.
    Keys(Vec<Key>),
}

/// A field that tells elements apart, and what it is where it is absent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) name: Box<str>,
    pub(crate) default: Option<Value>,
}

/// A struct, a map, or both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    pub(crate) declared: BTreeMap<Box<str>, ShapeId>,
    /// What everything else is; nothing else may be there if there is none.
    pub(crate) rest: Option<ShapeId>,
    /// Whether it is one value.
    pub(crate) is_atomic: bool,
}

/// Anything, as one value.
const UNTYPED: ShapeId = ShapeId(0);
/// Anything: maps field by field, lists as one value.
const DEDUCED: ShapeId = ShapeId(1);
const TEXT: ShapeId = ShapeId(2);
const NUMBER: ShapeId = ShapeId(3);
const BOOLEAN: ShapeId = ShapeId(4);
const ANY_SCALAR: ShapeId = ShapeId(5);

impl Types {
    /// The types that everything is made of.
    fn begin() -> Self {
        let anything = |rest: ShapeId, is_atomic: bool| Shape {
            scalar: Some(Scalar::Any),
            list: Some(List {
                items: UNTYPED,
                relation: Relation::Atomic,
            }),
            map: Some(Fields {
                declared: BTreeMap::new(),
                rest: Some(rest),
                is_atomic,
            }),
        };
        let scalar = |scalar| Shape {
            scalar: Some(scalar),
            ..Shape::default()
        };
        Self {
            shapes: vec![
                anything(UNTYPED, true),
                anything(DEDUCED, false),
                scalar(Scalar::Text),
                scalar(Scalar::Number),
                scalar(Scalar::Boolean),
                scalar(Scalar::Any),
            ],
        }
    }

    fn add(&mut self, shape: Shape) -> ShapeId {
        let id = ShapeId(u32::try_from(self.shapes.len()).expect("there are not that many types"));
        self.shapes.push(shape);
        id
    }

    fn get(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }

    /// The types of maps and lists about which nothing is known.
    pub fn deduced() -> Self {
        Self::begin()
    }

    /// The type of anything: maps are merged field by field, lists are one value.
    pub fn anything(&self) -> Type<'_> {
        self.at(DEDUCED)
    }

    fn at(&self, id: ShapeId) -> Type<'_> {
        Type { types: self, id }
    }
}

impl<'t> Type<'t> {
    pub(crate) fn shape(self) -> &'t Shape {
        self.types.get(self.id)
    }

    fn with(self, id: ShapeId) -> Self {
        Self {
            types: self.types,
            id,
        }
    }

    /// The type of a field, if it may be there.
    pub(crate) fn field(self, fields: &Fields, name: &str) -> Option<Self> {
        let declared = fields.declared.get(name).copied();
        declared.or(fields.rest).map(|id| self.with(id))
    }

    /// The same for objects that are stored: what may not be there is anything.
    pub(crate) fn field_or_anything(self, fields: &Fields, name: &str) -> Self {
        self.field(fields, name).unwrap_or(self.with(DEDUCED))
    }

    pub(crate) fn items(self, list: &List) -> Self {
        self.with(list.items)
    }

    /// Whether a map holds anything, so that no schema decides its granularity.
    pub(crate) fn is_deduced_map(self, fields: &Fields) -> bool {
        let is_any =
            |id: ShapeId| id != UNTYPED && self.with(id).shape().scalar == Some(Scalar::Any);
        fields.declared.is_empty() && fields.rest.is_some_and(is_any)
    }
}

/// What a value is, of what its type allows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form<'t> {
    Scalar(Scalar),
    List(&'t List),
    Map(&'t Fields),
}

impl<'t> Type<'t> {
    /// What a value is here. A value that its type does not allow is taken for the first thing that it does.
    pub(crate) fn form(self, value: Option<&Value>) -> Form<'t> {
        let shape = self.shape();
        let fitting = match value {
            None | Some(Value::Null) => None,
            Some(Value::Array(_)) => shape.list.as_ref().map(Form::List),
            Some(Value::Object(_)) => shape.map.as_ref().map(Form::Map),
            Some(_) => shape.scalar.map(Form::Scalar),
        };
        let first = || {
            let scalar = shape.scalar.map(Form::Scalar);
            let list = shape.list.as_ref().map(Form::List);
            let map = shape.map.as_ref().map(Form::Map);
            map.or(scalar).or(list).unwrap_or(Form::Scalar(Scalar::Any))
        };
        fitting.unwrap_or_else(first)
    }
}
