//! Merge types (upstream's `TypeDef`s): atomic or granular maps and lists, and the keys of associative lists.

mod builtin;
mod custom;
mod walk;

use std::collections::BTreeMap;

use serde_json::Value;

pub use builtin::BuiltInTypes;
pub use walk::{FieldType, ListRelation, MapRelation};

/// A closed set of types that refer to each other; immutable once built.
#[derive(Debug, Default)]
pub struct Types {
    defs: Vec<TypeDef>,
}

/// Index of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TypeDefId(u32);

/// A reference to one type.
#[derive(Debug, Clone, Copy)]
pub struct Type<'t> {
    types: &'t Types,
    id: TypeDefId,
}

/// The alternatives of a type: scalar, list, map, or several of them, in which case the value decides.
#[derive(Debug, Clone, Default)]
pub(crate) struct TypeDef {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Fields>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text,
    Number,
    Boolean,
    /// Any scalar.
    Any,
}

#[derive(Debug, Clone)]
pub(crate) struct List {
    pub(crate) items: TypeDefId,
    pub(crate) relation: Relation,
}

/// Element relationship of a list: the meaning of `x-kubernetes-list-type`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Relation {
    /// `atomic`: the list is owned as a whole.
    Atomic,
    /// `set`: items are identified by value.
    Set,
    /// `map`: items are identified by the values of these fields.
    Keys(Vec<Key>),
}

/// A key field of an associative list, with its default.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Key {
    pub(crate) name: Box<str>,
    pub(crate) default: Option<Value>,
}

/// A struct, a map, or both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Fields {
    pub(crate) declared: BTreeMap<Box<str>, TypeDefId>,
    /// Type of undeclared fields; none if they are not allowed.
    pub(crate) rest: Option<TypeDefId>,
    /// True if the map is owned as a whole.
    pub(crate) is_atomic: bool,
}

/// Any value, atomic.
const UNTYPED: TypeDefId = TypeDefId(0);
/// Any value: maps are granular, lists atomic.
const DEDUCED: TypeDefId = TypeDefId(1);
const TEXT: TypeDefId = TypeDefId(2);
const NUMBER: TypeDefId = TypeDefId(3);
const BOOLEAN: TypeDefId = TypeDefId(4);
const ANY_SCALAR: TypeDefId = TypeDefId(5);

impl Types {
    /// Starts with the predefined types.
    fn begin() -> Self {
        let anything = |rest: TypeDefId, is_atomic: bool| TypeDef {
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
        let scalar = |scalar| TypeDef {
            scalar: Some(scalar),
            ..TypeDef::default()
        };
        Self {
            defs: vec![
                anything(UNTYPED, true),
                anything(DEDUCED, false),
                scalar(Scalar::Text),
                scalar(Scalar::Number),
                scalar(Scalar::Boolean),
                scalar(Scalar::Any),
            ],
        }
    }

    fn add(&mut self, def: TypeDef) -> TypeDefId {
        let id = TypeDefId(u32::try_from(self.defs.len()).expect("there are not that many types"));
        self.defs.push(def);
        id
    }

    fn get(&self, id: TypeDefId) -> &TypeDef {
        &self.defs[id.0 as usize]
    }

    /// Types for schemaless values.
    pub fn deduced() -> Self {
        Self::begin()
    }

    /// The schemaless type: maps are granular, lists atomic.
    pub fn anything(&self) -> Type<'_> {
        self.at(DEDUCED)
    }

    fn at(&self, id: TypeDefId) -> Type<'_> {
        Type { types: self, id }
    }
}

impl<'t> Type<'t> {
    pub(crate) fn def(self) -> &'t TypeDef {
        self.types.get(self.id)
    }

    fn with(self, id: TypeDefId) -> Self {
        Self {
            types: self.types,
            id,
        }
    }

    /// The type of a field; none if the field is not allowed.
    pub(crate) fn field(self, fields: &Fields, name: &str) -> Option<Self> {
        let declared = fields.declared.get(name).copied();
        declared.or(fields.rest).map(|id| self.with(id))
    }

    /// Variant of [`field`](Self::field) for stored objects: an undeclared field is schemaless.
    pub(crate) fn field_or_anything(self, fields: &Fields, name: &str) -> Self {
        self.field(fields, name).unwrap_or(self.with(DEDUCED))
    }

    pub(crate) fn items(self, list: &List) -> Self {
        self.with(list.items)
    }

    /// True for a schemaless map, whose granularity no schema decides.
    pub(crate) fn is_deduced_map(self, fields: &Fields) -> bool {
        let is_any =
            |id: TypeDefId| id != UNTYPED && self.with(id).def().scalar == Some(Scalar::Any);
        fields.declared.is_empty() && fields.rest.is_some_and(is_any)
    }
}

/// The alternative of a type that applies to a value.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form<'t> {
    Scalar(Scalar),
    List(&'t List),
    Map(&'t Fields),
}

impl<'t> Type<'t> {
    /// Selects the alternative for a value. A value that the type does not allow gets the first alternative it has.
    pub(crate) fn form(self, value: Option<&Value>) -> Form<'t> {
        let def = self.def();
        let fitting = match value {
            None | Some(Value::Null) => None,
            Some(Value::Array(_)) => def.list.as_ref().map(Form::List),
            Some(Value::Object(_)) => def.map.as_ref().map(Form::Map),
            Some(_) => def.scalar.map(Form::Scalar),
        };
        let first = || {
            let scalar = def.scalar.map(Form::Scalar);
            let list = def.list.as_ref().map(Form::List);
            let map = def.map.as_ref().map(Form::Map);
            map.or(scalar).or(list).unwrap_or(Form::Scalar(Scalar::Any))
        };
        fitting.unwrap_or_else(first)
    }
}
