//! Typed decoding: JSON as the Go type of a kind would decode and encode it.
//!
//! Values of a wrong type are rejected with Go's error message. The result is what Go would print: unknown fields and
//! empty `omitempty` fields are dropped, and fields without `omitempty` are present. Times, quantities and base64 are
//! canonical.

mod error;
mod place;
mod special;
mod time;

pub use error::TypeError;
pub(crate) use special::{BASE64, decode_base64, quantity};

use lockstep_object::field::UNKNOWN_FIELDS_MAX;
use lockstep_object::{Map, Value};

use crate::go_type;
use crate::table::{Field, Leaf, Omit, Shape, Special, Table, Type, TypeId};
use place::Place;

/// Maximum number of values added to an object: an empty struct in a list costs a client two bytes, but expands to all
/// fields without `omitempty`.
pub const GROWTH_MAX: usize = 500_000;

/// Normalizes an object of a type. Paths of unknown fields are added to `unknown`, sorted by name within each map.
///
/// `metadata.managedFields` is left as it is, because field management distinguishes absent, empty and malformed
/// values.
pub fn read(
    table: &Table,
    id: TypeId,
    object: &mut Map<String, Value>,
    unknown: &mut Vec<String>,
) -> Result<(), TypeError> {
    let mut reader = Reader {
        table,
        unknown,
        growth: 0,
    };
    reader.structure(table.get(id), id, object, &Place::Root)
}

struct Reader<'t, 'u> {
    table: &'t Table,
    unknown: &'u mut Vec<String>,
    growth: usize,
}

/// A field with its name for error messages.
#[derive(Clone, Copy)]
struct At<'a> {
    id: TypeId,
    field: &'a Field,
}

impl Reader<'_, '_> {
    fn structure(
        &mut self,
        kind: &Type,
        id: TypeId,
        entries: &mut Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), TypeError> {
        let mut strange = false;
        for (name, value) in entries.iter_mut() {
            let Some(field) = kind.field(name) else {
                strange = true;
                continue;
            };
            if place.is_metadata_of_root() && field.name == "managedFields" {
                continue;
            }
            let place = Place::Field {
                parent: place,
                of: kind.name,
                name: field.name,
            };
            self.whole(At { id, field }, value, &place)?;
        }
        if strange {
            self.drop_strangers(kind, entries, place);
        }
        entries.retain(|name, value| {
            let is_kept = place.is_metadata_of_root() && name == "managedFields";
            is_kept
                || kind
                    .field(name)
                    .is_none_or(|field| !is_omitted(field, value))
        });
        self.complete(kind, entries)
    }

    fn drop_strangers(&mut self, kind: &Type, entries: &mut Map<String, Value>, place: &Place<'_>) {
        entries.retain(|name, _| {
            let is_known = kind.field(name).is_some();
            if !is_known && self.unknown.len() < UNKNOWN_FIELDS_MAX {
                self.unknown.push(place.path(name));
            }
            is_known
        });
    }

    /// Adds what is always there.
    fn complete(&mut self, kind: &Type, entries: &mut Map<String, Value>) -> Result<(), TypeError> {
        for field in &kind.json {
            if entries.contains_key(field.name) {
                continue;
            }
            let Some(mut value) = zero(field) else {
                continue;
            };
            self.grow()?;
            if let (Value::Object(inner), Shape::One(Leaf::Struct(id))) = (&mut value, field.shape)
            {
                self.complete(self.table.get(id), inner)?;
            }
            entries.insert(field.name.to_owned(), value);
        }
        Ok(())
    }

    fn grow(&mut self) -> Result<(), TypeError> {
        self.growth += 1;
        if self.growth > GROWTH_MAX {
            return Err(TypeError::Growth);
        }
        Ok(())
    }

    fn whole(&mut self, at: At<'_>, value: &mut Value, place: &Place<'_>) -> Result<(), TypeError> {
        match at.field.shape {
            Shape::One(leaf) if value.is_null() => {
                match zero_of(leaf).filter(|_| !at.field.is_pointer) {
                    None => return Ok(()),
                    Some(zero) => *value = zero,
                }
                self.one(at, leaf, value, place)
            }
            _ if value.is_null() => Ok(()),
            Shape::One(leaf) => self.one(at, leaf, value, place),
            Shape::List(leaf) => {
                let Value::Array(items) = value else {
                    return Err(self.mismatch(at, value, place, Part::Whole));
                };
                for (index, item) in items.iter_mut().enumerate() {
                    let place = Place::Index {
                        parent: place,
                        index,
                    };
                    self.element(at, leaf, item, &place)?;
                }
                Ok(())
            }
            Shape::Map(leaf) => {
                let Value::Object(entries) = value else {
                    return Err(self.mismatch(at, value, place, Part::Whole));
                };
                for (key, item) in entries.iter_mut() {
                    let place = Place::Key { parent: place, key };
                    self.element(at, leaf, item, &place)?;
                }
                Ok(())
            }
        }
    }

    /// Decodes a list item or map value; null becomes the zero value.
    fn element(
        &mut self,
        at: At<'_>,
        leaf: Leaf,
        value: &mut Value,
        place: &Place<'_>,
    ) -> Result<(), TypeError> {
        if value.is_null() {
            let Some(zero) = zero_of(leaf) else {
                return Ok(());
            };
            *value = zero;
        }
        self.one(at, leaf, value, place)
    }

    fn one(
        &mut self,
        at: At<'_>,
        leaf: Leaf,
        value: &mut Value,
        place: &Place<'_>,
    ) -> Result<(), TypeError> {
        let mismatch = |value: &Value| Err(self.mismatch(at, value, place, Part::Item));
        match (leaf, &mut *value) {
            (Leaf::Bool, Value::Bool(_))
            | (Leaf::Text, Value::String(_))
            | (Leaf::Double, Value::Number(_)) => Ok(()),
            (Leaf::Int32, Value::Number(number)) => match number.as_i64().map(i32::try_from) {
                Some(Ok(_)) => Ok(()),
                _ => mismatch(value),
            },
            (Leaf::Int64, Value::Number(number)) if number.is_i64() => Ok(()),
            (Leaf::Bytes, Value::String(text)) => {
                *text = special::base64(text)?;
                Ok(())
            }
            (Leaf::Struct(id), Value::Object(entries)) => {
                self.structure(self.table.get(id), id, entries, place)
            }
            (Leaf::Special(special), _) => self.special(at, special, value, place),
            _ => mismatch(value),
        }
    }

    fn special(
        &mut self,
        at: At<'_>,
        special: Special,
        value: &mut Value,
        place: &Place<'_>,
    ) -> Result<(), TypeError> {
        match special {
            Special::Json => Ok(()),
            Special::Time | Special::MicroTime | Special::Quantity | Special::IntOrString => {
                special::scalar(special, value).map_err(|found| found.at(place))
            }
            Special::Texts => self.texts(at, value, place),
            // Of the two that it could be, an empty list is neither.
            Special::SchemaOrSchemas | Special::SchemaOrTexts
                if *value == Value::Array(Vec::new()) =>
            {
                *value = Value::Null;
                Ok(())
            }
            Special::SchemaOrSchemas => match value {
                Value::Array(items) => {
                    for (index, item) in items.iter_mut().enumerate() {
                        let place = Place::Index {
                            parent: place,
                            index,
                        };
                        self.nested_schema(at, item, &place)?;
                    }
                    Ok(())
                }
                _ => self.nested_schema(at, value, place),
            },
            Special::SchemaOrBool => match value {
                Value::Bool(_) => Ok(()),
                Value::Object(_) => self.nested_schema(at, value, place),
                _ => Err(TypeError::NeitherSchemaNorBool),
            },
            Special::SchemaOrTexts => match value {
                Value::Array(_) => self.texts(at, value, place),
                _ => self.nested_schema(at, value, place),
            },
        }
    }

    fn texts(&self, at: At<'_>, value: &mut Value, place: &Place<'_>) -> Result<(), TypeError> {
        let Value::Array(items) = value else {
            return Err(self.mismatch(at, value, place, Part::Item));
        };
        for item in items {
            match item {
                Value::String(_) => {}
                Value::Null => *item = Value::from(""),
                _ => return Err(TypeError::mismatch(item, place, "string".to_owned())),
            }
        }
        Ok(())
    }

    /// A schema inside a schema: the type that the field is declared in.
    fn nested_schema(
        &mut self,
        at: At<'_>,
        value: &mut Value,
        place: &Place<'_>,
    ) -> Result<(), TypeError> {
        let table = self.table;
        match value {
            Value::Object(entries) => self.structure(table.get(at.id), at.id, entries, place),
            _ => {
                let wanted = format!("v1.{}", table.get(at.id).name);
                Err(TypeError::mismatch(value, place, wanted))
            }
        }
    }

    fn mismatch(&self, at: At<'_>, value: &Value, place: &Place<'_>, part: Part) -> TypeError {
        let package = self.table.package(at.id);
        let wanted = match part {
            Part::Whole => go_type::whole(package, at.field),
            Part::Item => go_type::item(package, at.field),
        };
        TypeError::mismatch(value, place, wanted)
    }
}

/// Location of a type error: the field itself or a value inside it.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    Item,
}

/// True if Go would omit a value.
fn is_omitted(field: &Field, value: &Value) -> bool {
    match field.omit {
        Omit::Never => false,
        _ if field.is_pointer => value.is_null(),
        Omit::Zero => is_empty(value),
        Omit::Empty => !field.is_struct() && is_empty(value),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}

/// Zero value of an absent field; none if Go omits it.
fn zero(field: &Field) -> Option<Value> {
    let is_struct = field.is_struct() && !field.is_pointer;
    match field.omit {
        Omit::Zero => return None,
        Omit::Empty if !is_struct => return None,
        Omit::Empty | Omit::Never => {}
    }
    Some(match field.shape {
        Shape::One(leaf) if !field.is_pointer => zero_of(leaf).unwrap_or(Value::Null),
        _ => Value::Null,
    })
}

/// The zero of a type as Go prints it; none for null.
fn zero_of(leaf: Leaf) -> Option<Value> {
    Some(match leaf {
        Leaf::Bool => false.into(),
        Leaf::Int32 | Leaf::Int64 | Leaf::Double | Leaf::Special(Special::IntOrString) => 0.into(),
        Leaf::Text => "".into(),
        Leaf::Struct(_) => Value::Object(Map::new()),
        Leaf::Special(Special::Quantity) => "0".into(),
        Leaf::Bytes | Leaf::Special(_) => return None,
    })
}

impl Field {
    /// True if Go has a struct here, which `omitempty` never omits.
    fn is_struct(&self) -> bool {
        match self.shape {
            Shape::One(Leaf::Struct(_)) => true,
            Shape::One(Leaf::Special(special)) => special != Special::Texts,
            _ => false,
        }
    }
}
