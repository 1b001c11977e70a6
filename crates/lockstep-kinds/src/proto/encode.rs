//! Protobuf encoding from JSON.

use lockstep_object::{Map, Value};

use super::wire::{put_bytes, put_double, put_varint};
use super::{MESSAGE_DEPTH_MAX, special};
use crate::table::{Field, Leaf, Shape, Table, TypeId};
use crate::typed::decode_base64;

/// Errors of encoding an object. Objects normalized by [`typed::read`](crate::typed::read) always encode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// A value that its type does not have.
    #[error("a value is not of its field's type")]
    Value,
    /// A field value has the wrong type.
    #[error("`{0}` is not of its field's type")]
    Field(&'static str),
    /// See [`MESSAGE_DEPTH_MAX`].
    #[error("messages are nested too deep")]
    Depth,
}

/// The message of an object, as Go's generated code writes it: tags in order, map keys sorted, and every scalar that is
/// no pointer, also when it is zero. Fields that the type does not have are left out.
pub fn encode(
    table: &Table,
    id: TypeId,
    object: &Map<String, Value>,
) -> Result<Vec<u8>, EncodeError> {
    Encoder { table }.message(id, object, 0)
}

pub(super) struct Encoder<'t> {
    table: &'t Table,
}

impl Encoder<'_> {
    pub(super) fn message(
        &self,
        id: TypeId,
        entries: &Map<String, Value>,
        depth: usize,
    ) -> Result<Vec<u8>, EncodeError> {
        if depth > MESSAGE_DEPTH_MAX {
            return Err(EncodeError::Depth);
        }
        let mut out = Vec::new();
        for field in self
            .table
            .get(id)
            .fields
            .iter()
            .filter(|field| field.tag > 0)
        {
            if let (true, Shape::One(Leaf::Struct(inner))) = (field.name.is_empty(), field.shape) {
                put_bytes(
                    field.tag,
                    &self.message(inner, entries, depth + 1)?,
                    &mut out,
                );
                continue;
            }
            let value = entries.get(field.name).unwrap_or(&Value::Null);
            self.field(id, field, value, depth, &mut out)
                .map_err(|error| match error {
                    EncodeError::Value => EncodeError::Field(field.name),
                    other => other,
                })?;
        }
        Ok(out)
    }

    fn field(
        &self,
        owner: TypeId,
        field: &Field,
        value: &Value,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let tag = field.tag;
        match (field.shape, value) {
            (Shape::List(_) | Shape::Map(_) | Shape::One(Leaf::Bytes), Value::Null) => Ok(()),
            (_, Value::Null) if field.is_pointer => Ok(()),
            (Shape::One(leaf), _) => self.leaf(owner, leaf, tag, value, depth, out),
            (Shape::List(leaf), Value::Array(items)) => {
                for item in items {
                    self.leaf(owner, leaf, tag, item, depth, out)?;
                }
                Ok(())
            }
            (Shape::Map(leaf), Value::Object(entries)) => {
                for (key, value) in entries {
                    let mut entry = Vec::new();
                    put_bytes(1, key.as_bytes(), &mut entry);
                    self.leaf(owner, leaf, 2, value, depth, &mut entry)?;
                    put_bytes(tag, &entry, out);
                }
                Ok(())
            }
            _ => Err(EncodeError::Value),
        }
    }

    fn leaf(
        &self,
        owner: TypeId,
        leaf: Leaf,
        tag: u32,
        value: &Value,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let wrong = EncodeError::Value;
        match (leaf, value) {
            (Leaf::Bool, Value::Bool(value)) => put_varint(tag, u64::from(*value), out),
            (Leaf::Int32 | Leaf::Int64, Value::Number(number)) => {
                put_varint(tag, number.as_i64().ok_or(wrong)?.cast_unsigned(), out);
            }
            (Leaf::Double, Value::Number(number)) => {
                put_double(tag, number.as_f64().ok_or(wrong)?, out);
            }
            (Leaf::Text, Value::String(text)) => put_bytes(tag, text.as_bytes(), out),
            (Leaf::Bytes, Value::String(text)) => {
                put_bytes(tag, &decode_base64(text).map_err(|_| wrong)?, out);
            }
            (Leaf::Struct(id), Value::Object(entries)) => {
                put_bytes(tag, &self.message(id, entries, depth + 1)?, out);
            }
            (Leaf::Special(special), _) => {
                put_bytes(
                    tag,
                    &special::encode(self, owner, special, value, depth)?,
                    out,
                );
            }
            // Nothing, where something always is.
            (Leaf::Bool | Leaf::Int32 | Leaf::Int64, Value::Null) => put_varint(tag, 0, out),
            (Leaf::Double, Value::Null) => put_double(tag, 0.0, out),
            (Leaf::Text | Leaf::Bytes, Value::Null) => put_bytes(tag, b"", out),
            (Leaf::Struct(id), Value::Null) => {
                put_bytes(tag, &self.message(id, &Map::new(), depth + 1)?, out);
            }
            _ => return Err(wrong),
        }
        Ok(())
    }
}
