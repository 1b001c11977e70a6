//! Lists, maps and objects: views over JSON or plan constants, or built during evaluation.

use super::{Arena, Constant, Eval, Fault, Value, equal, key_order, of_json, of_typed};
use crate::schema::{Fields, Schema, Shape};
use serde_json::Value as Json;
use std::cmp::Ordering;

type JsonMap = serde_json::Map<String, Json>;

/// A list.
#[derive(Debug, Clone, Copy)]
pub enum List<'a> {
    /// JSON without a schema.
    Json(&'a Vec<Json>),
    /// JSON with the schema of the list.
    Typed(&'a Vec<Json>, &'a Schema),
    /// Built by the expression.
    Built(&'a [Value<'a>]),
    /// Part of the plan.
    #[doc(hidden)]
    Constant(&'a [Constant]),
    /// Two lists after one another.
    #[doc(hidden)]
    Concat(&'a Concat<'a>),
    /// The union of a set or keyed list with another list; it compares like its left side.
    #[doc(hidden)]
    Merged(&'a Merged<'a>),
}

/// Result of adding to a set or associative list.
#[derive(Debug, Clone, Copy)]
pub struct Merged<'a> {
    pub(crate) values: &'a [Value<'a>],
    pub(crate) schema: &'a Schema,
}

/// The sum of two lists, which copies nothing.
#[derive(Debug, Clone, Copy)]
pub struct Concat<'a> {
    pub(crate) left: List<'a>,
    pub(crate) right: List<'a>,
    pub(crate) len: usize,
}

impl<'a> List<'a> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(elements) | Self::Typed(elements, _) => elements.len(),
            Self::Built(elements) => elements.len(),
            Self::Constant(elements) => elements.len(),
            Self::Concat(concat) => concat.len,
            Self::Merged(merged) => merged.values.len(),
        }
    }

    /// The schema that defines equality and addition of the list.
    pub(crate) fn schema(&self) -> Option<&'a Schema> {
        match self {
            Self::Typed(_, schema) => Some(schema),
            Self::Merged(merged) => Some(merged.schema),
            _ => None,
        }
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at an index that exists. Data that does not fit its schema is a fault.
    pub(crate) fn at(&self, index: usize) -> Eval<'a> {
        let (mut list, mut index) = (*self, index);
        loop {
            return match list {
                Self::Json(elements) => Ok(of_json(&elements[index])),
                Self::Typed(elements, schema) => match &schema.shape {
                    Shape::List(items, _) => of_typed(&elements[index], items),
                    _ => Ok(of_json(&elements[index])),
                },
                Self::Built(elements) => Ok(elements[index]),
                Self::Constant(elements) => Ok(elements[index].view()),
                Self::Merged(merged) => Ok(merged.values[index]),
                Self::Concat(concat) => {
                    let left = concat.left.len();
                    if index < left {
                        list = concat.left;
                    } else {
                        index -= left;
                        list = concat.right;
                    }
                    continue;
                }
            };
        }
    }

    /// All elements in order.
    pub(crate) fn values(self) -> impl Iterator<Item = Eval<'a>> {
        (0..self.len()).map(move |index| self.at(index))
    }

    /// This list followed by another.
    pub(crate) fn plus(self, other: Self, arena: &'a Arena) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let len = self.len().saturating_add(other.len());
        Self::Concat(arena.put(Concat {
            left: self,
            right: other,
            len,
        }))
    }
}

/// A map.
#[derive(Debug, Clone, Copy)]
pub enum Map<'a> {
    /// JSON without a schema.
    Json(&'a JsonMap),
    /// JSON with the schema of the map or object.
    Typed(&'a JsonMap, &'a Schema),
    /// Built by the expression, sorted by key.
    Built(&'a BuiltMap<'a>),
    /// Part of the plan, sorted by key.
    #[doc(hidden)]
    Constant(&'a [(Constant, Constant)]),
}

/// A map built while running.
#[derive(Debug, Clone, Copy)]
pub struct BuiltMap<'a> {
    pub(crate) entries: &'a [(Value<'a>, Value<'a>)],
    /// Keys written as `?key` whose value was empty.
    pub(crate) omitted: &'a [Value<'a>],
}

impl<'a> Map<'a> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::Json(entries) | Self::Typed(entries, _) => entries.len(),
            Self::Built(map) => map.entries.len(),
            Self::Constant(entries) => entries.len(),
        }
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entry of a string key, the common case.
    pub(crate) fn field(&self, name: &str) -> Option<Eval<'a>> {
        match self {
            Self::Json(entries) => entries.get(name).map(|value| Ok(of_json(value))),
            Self::Typed(entries, schema) => typed_field(entries, schema, name),
            Self::Built(_) | Self::Constant(_) => self.entry_of(&Value::String(name)).map(Ok),
        }
    }

    /// The entry of any key; numbers are found by value.
    pub(crate) fn get(&self, key: &Value<'_>) -> Option<Eval<'a>> {
        match (self, key) {
            (Self::Json(_) | Self::Typed(..), Value::String(name)) => self.field(name),
            (Self::Json(_) | Self::Typed(..), _) => None,
            _ => self.entry_of(key).map(Ok),
        }
    }

    fn entry_of(&self, key: &Value<'_>) -> Option<Value<'a>> {
        match self {
            Self::Built(map) => search(map.entries, key, |entry| entry.0).map(|entry| entry.1),
            Self::Constant(entries) => {
                search(entries, key, |entry| entry.0.view()).map(|entry| entry.1.view())
            }
            Self::Json(_) | Self::Typed(..) => None,
        }
    }

    /// Keys written as `?key` whose value was empty.
    pub fn omitted(&self) -> &'a [Value<'a>] {
        match self {
            Self::Built(map) => map.omitted,
            _ => &[],
        }
    }

    /// All entries, sorted by key.
    pub(crate) fn entries(self) -> Entries<'a> {
        match self {
            Self::Json(entries) => Entries::Json(entries.iter()),
            Self::Typed(entries, schema) => Entries::Typed(entries.iter(), schema),
            Self::Built(map) => Entries::Built(map.entries.iter()),
            Self::Constant(entries) => Entries::Constant(entries.iter()),
        }
    }
}

/// Finds an entry by key; keys that have an order are sorted, others are compared one by one.
fn search<'s, E>(entries: &'s [E], key: &Value<'_>, of: impl Fn(&E) -> Value<'_>) -> Option<&'s E> {
    const SCAN_MAX: usize = 4;
    if entries.len() > SCAN_MAX && key_order(key, key).is_some() {
        let sorted =
            entries.partition_point(|entry| key_order(&of(entry), key) == Some(Ordering::Less));
        return entries.get(sorted).filter(|entry| equal(&of(entry), key));
    }
    entries.iter().find(|entry| equal(&of(entry), key))
}

fn typed_field<'a>(entries: &'a JsonMap, schema: &'a Schema, name: &str) -> Option<Eval<'a>> {
    match &schema.shape {
        Shape::Map(values) => entries.get(name).map(|value| of_typed(value, values)),
        Shape::Object(object) => {
            let Fields::Declared(fields) = &object.fields else {
                return None;
            };
            let field = fields.get(name)?;
            let value = entries.get(&*field.json_name)?;
            if value.is_null() && !matches!(field.schema.shape, Shape::Any) {
                return None;
            }
            Some(of_typed(value, &field.schema))
        }
        _ => entries.get(name).map(|value| Ok(of_json(value))),
    }
}

/// The entries of a map.
#[derive(Debug, Clone)]
pub(crate) enum Entries<'a> {
    Json(serde_json::map::Iter<'a>),
    Typed(serde_json::map::Iter<'a>, &'a Schema),
    Built(std::slice::Iter<'a, (Value<'a>, Value<'a>)>),
    Constant(std::slice::Iter<'a, (Constant, Constant)>),
}

impl<'a> Iterator for Entries<'a> {
    type Item = (Value<'a>, Eval<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self {
            Self::Json(entries) => {
                let (key, value) = entries.next()?;
                (Value::String(key), Ok(of_json(value)))
            }
            Self::Typed(entries, schema) => {
                let (key, value) = entries.next()?;
                let value = match &schema.shape {
                    Shape::Map(values) => of_typed(value, values),
                    _ => Ok(of_json(value)),
                };
                (Value::String(key), value)
            }
            Self::Built(entries) => {
                let (key, value) = entries.next()?;
                (*key, Ok(*value))
            }
            Self::Constant(entries) => {
                let (key, value) = entries.next()?;
                (key.view(), Ok(value.view()))
            }
        })
    }
}

/// An `Object…` or `JSONPatch` the expression built.
#[derive(Debug, Clone, Copy)]
pub struct Object<'a> {
    /// Its type's name, such as `Object.spec`.
    pub type_name: &'a str,
    /// The fields, sorted by name.
    pub fields: &'a [(&'a str, Value<'a>)],
    /// Fields written as `?field` whose value was empty.
    pub omitted: &'a [&'a str],
    /// True for the result of `objects.remove`: the element with these keys is to be removed.
    pub is_removal: bool,
}

impl<'a> Object<'a> {
    /// The value of a field.
    pub fn field(&self, name: &str) -> Option<Value<'a>> {
        self.fields
            .iter()
            .find(|(field, _)| *field == name)
            .map(|(_, value)| *value)
    }
}

impl<'a> Value<'a> {
    /// The list, or a type error.
    pub(crate) fn as_list(&self) -> Result<List<'a>, Fault<'a>> {
        match self {
            Self::List(list) => Ok(*list),
            _ => Err(Fault::NoSuchOverload),
        }
    }

    /// Lists and maps of the data or the plan: they hold nothing the expression built.
    pub(crate) fn is_plain_data(&self) -> bool {
        matches!(
            self,
            Self::List(List::Json(_) | List::Typed(..) | List::Constant(_))
                | Self::Map(Map::Json(_) | Map::Typed(..) | Map::Constant(_))
        )
    }

    /// The string, or a type error.
    pub(crate) fn as_text(&self) -> Result<&'a str, Fault<'a>> {
        match self {
            Self::String(text) => Ok(text),
            _ => Err(Fault::NoSuchOverload),
        }
    }

    /// The int, or a type error.
    pub(crate) fn as_int(&self) -> Result<i64, Fault<'a>> {
        match self {
            Self::Int(value) => Ok(*value),
            _ => Err(Fault::NoSuchOverload),
        }
    }
}
