//! Protobuf decoding to JSON.

use base64::Engine as _;
use lockstep_object::json::{self, DEPTH_MAX};
use lockstep_object::{Map, Value};

use super::wire::{Payload, next, next_known, packed};
use super::{MESSAGE_DEPTH_MAX, VALUES_MAX, special};
use crate::table::{Field, Leaf, Omit, Shape, Table, TypeId};
use crate::typed::BASE64;

/// Errors of decoding a message.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// A key or a number that is none.
    #[error("proto: {0}")]
    Wire(#[from] prost::DecodeError),
    /// A length beyond the end.
    #[error("unexpected EOF")]
    Truncated,
    /// A field whose bytes are of another kind.
    #[error("proto: wrong wireType = {found} for field {field}")]
    WireType {
        /// The number on the wire.
        found: u32,
        /// The field's name in JSON.
        field: &'static str,
    },
    /// Raw JSON that is none.
    #[error("{0}")]
    Json(#[from] json::DecodeError),
    /// A time that no calendar has.
    #[error("time {0} is out of range")]
    Time(i64),
    /// NaN or infinity, which JSON cannot represent.
    #[error("json: unsupported value: {0}")]
    Number(String),
    /// See [`MESSAGE_DEPTH_MAX`] and [`DEPTH_MAX`].
    #[error("messages are nested too deep")]
    Depth,
    /// See [`VALUES_MAX`].
    #[error("the message has more than {VALUES_MAX} values")]
    Values,
}

/// The fields of a message of a type as JSON, with every value that the wire has, but for the zeros of fields that JSON
/// leaves out then: most of a message is those. Tags that the type does not have are skipped.
pub fn decode(table: &Table, id: TypeId, bytes: &[u8]) -> Result<Map<String, Value>, DecodeError> {
    let mut decoder = Decoder { table, values: 0 };
    let mut entries = Map::new();
    decoder.message(id, bytes, &mut entries, 0)?;
    let value = Value::Object(entries);
    if json::depth(&value) > DEPTH_MAX {
        return Err(DecodeError::Depth);
    }
    match value {
        Value::Object(entries) => Ok(entries),
        _ => Ok(Map::new()),
    }
}

pub(super) struct Decoder<'t> {
    table: &'t Table,
    values: usize,
}

/// A field and where it is declared.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) id: TypeId,
    pub(super) field: &'a Field,
    pub(super) depth: usize,
}

impl Decoder<'_> {
    pub(super) fn message(
        &mut self,
        id: TypeId,
        mut bytes: &[u8],
        entries: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > MESSAGE_DEPTH_MAX {
            return Err(DecodeError::Depth);
        }
        let kind = self.table.get(id);
        while let Some((field, payload)) = next_known(&mut bytes, |tag| kind.tagged(tag))? {
            let at = At { id, field, depth };
            if let (true, Shape::One(Leaf::Struct(inner))) = (field.name.is_empty(), field.shape) {
                let bytes = at.bytes(payload)?;
                self.message(inner, bytes, entries, depth + 1)?;
                continue;
            }
            self.field(at, payload, entries)?;
        }
        Ok(())
    }

    fn field(
        &mut self,
        at: At<'_>,
        payload: Payload<'_>,
        entries: &mut Map<String, Value>,
    ) -> Result<(), DecodeError> {
        let name = at.field.name;
        match at.field.shape {
            Shape::One(Leaf::Struct(id)) => {
                self.count()?;
                let bytes = at.bytes(payload)?;
                let entry = entries.entry(name).or_insert(Value::Null);
                let mut inner = match entry.take() {
                    Value::Object(inner) => inner,
                    _ => Map::new(),
                };
                self.message(id, bytes, &mut inner, at.depth + 1)?;
                *entry = Value::Object(inner);
            }
            Shape::One(leaf) if at.is_left_out(leaf, payload) => {
                self.count()?;
                entries.remove(name);
            }
            Shape::One(leaf) => {
                let value = self.leaf(at, leaf, payload)?;
                entries.insert(name.to_owned(), value);
            }
            Shape::List(leaf) => {
                let mut items = self.items(at, leaf, payload)?;
                match entries.get_mut(name) {
                    Some(Value::Array(list)) => list.append(&mut items),
                    _ => {
                        entries.insert(name.to_owned(), Value::Array(items));
                    }
                }
            }
            Shape::Map(leaf) => {
                let (key, value) = self.entry(at, leaf, at.bytes(payload)?)?;
                let map = entries
                    .entry(name)
                    .or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(map) = map {
                    map.insert(key, value);
                }
            }
        }
        Ok(())
    }

    /// One item of a list, or all of a packed one.
    fn items(
        &mut self,
        at: At<'_>,
        leaf: Leaf,
        payload: Payload<'_>,
    ) -> Result<Vec<Value>, DecodeError> {
        let is_number = matches!(leaf, Leaf::Bool | Leaf::Int32 | Leaf::Int64);
        match payload {
            Payload::Bytes(bytes) if is_number => packed(bytes)?
                .into_iter()
                .map(|number| self.leaf(at, leaf, Payload::Varint(number)))
                .collect(),
            _ => Ok(vec![self.leaf(at, leaf, payload)?]),
        }
    }

    fn entry(
        &mut self,
        at: At<'_>,
        leaf: Leaf,
        mut bytes: &[u8],
    ) -> Result<(String, Value), DecodeError> {
        let (mut key, mut value) = (String::new(), None);
        while let Some((tag, payload)) = next(&mut bytes, |tag| matches!(tag, 1 | 2))? {
            if tag == 1 {
                key = text(at.bytes(payload)?);
            } else {
                value = Some(self.leaf(at, leaf, payload)?);
            }
        }
        // An entry without a value has that of an empty one.
        let value = match value {
            Some(value) => value,
            None => match leaf {
                Leaf::Bool | Leaf::Int32 | Leaf::Int64 => {
                    self.leaf(at, leaf, Payload::Varint(0))?
                }
                Leaf::Double => self.leaf(at, leaf, Payload::Fixed64(0))?,
                _ => self.leaf(at, leaf, Payload::Bytes(&[]))?,
            },
        };
        Ok((key, value))
    }

    fn leaf(&mut self, at: At<'_>, leaf: Leaf, payload: Payload<'_>) -> Result<Value, DecodeError> {
        self.count()?;
        Ok(match (leaf, payload) {
            (Leaf::Bool, Payload::Varint(number)) => Value::Bool(number != 0),
            (Leaf::Int32, Payload::Varint(number)) => int32(number).into(),
            (Leaf::Int64, Payload::Varint(number)) => number.cast_signed().into(),
            (Leaf::Double, Payload::Fixed64(bits)) => double(f64::from_bits(bits))?,
            (Leaf::Text, Payload::Bytes(bytes)) => text(bytes).into(),
            (Leaf::Bytes, Payload::Bytes(bytes)) => BASE64.encode(bytes).into(),
            (Leaf::Struct(id), Payload::Bytes(bytes)) => {
                let mut entries = Map::new();
                self.message(id, bytes, &mut entries, at.depth + 1)?;
                Value::Object(entries)
            }
            (Leaf::Special(kind), Payload::Bytes(bytes)) => special::decode(self, at, kind, bytes)?,
            _ => return Err(at.wrong(payload)),
        })
    }

    pub(super) fn count(&mut self) -> Result<(), DecodeError> {
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(DecodeError::Values);
        }
        Ok(())
    }
}

impl At<'_> {
    pub(super) fn bytes<'b>(&self, payload: Payload<'b>) -> Result<&'b [u8], DecodeError> {
        match payload {
            Payload::Bytes(bytes) => Ok(bytes),
            _ => Err(self.wrong(payload)),
        }
    }

    pub(super) fn varint(&self, payload: Payload<'_>) -> Result<u64, DecodeError> {
        match payload {
            Payload::Varint(number) => Ok(number),
            _ => Err(self.wrong(payload)),
        }
    }

    /// True for a zero value that JSON omits.
    fn is_left_out(&self, leaf: Leaf, payload: Payload<'_>) -> bool {
        let is_zero = match (leaf, payload) {
            (Leaf::Bool | Leaf::Int32 | Leaf::Int64, Payload::Varint(number)) => number == 0,
            (Leaf::Text, Payload::Bytes(bytes)) => bytes.is_empty(),
            _ => false,
        };
        is_zero && !self.field.is_pointer && self.field.omit != Omit::Never
    }

    fn wrong(&self, payload: Payload<'_>) -> DecodeError {
        DecodeError::WireType {
            found: payload.wire_type(),
            field: self.field.name,
        }
    }
}

/// Text; what is not UTF-8 in it is replaced, as Go's JSON does.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The lower half, which is what Go keeps.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the upper half is the sign"
)]
pub(super) fn int32(number: u64) -> i32 {
    number as i32
}

fn double(number: f64) -> Result<Value, DecodeError> {
    let mut value = Value::from(number);
    if value.is_null() {
        return Err(DecodeError::Number(number.to_string()));
    }
    json::normalise_numbers(&mut value);
    Ok(value)
}
