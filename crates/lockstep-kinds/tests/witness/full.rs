//! Objects with every field set.

use lockstep_kinds::{Field, Leaf, Shape, Special, Table, TypeId};
use serde_json::{Map, Value, json};

/// Maximal number of times that a type may be nested in itself.
const REPEATS_MAX: usize = 1;

/// An object of a type with every field set to something that is not zero.
pub(crate) fn full(table: &Table, id: TypeId) -> Map<String, Value> {
    structure(table, id, &mut Vec::new())
}

fn structure(table: &Table, id: TypeId, outer: &mut Vec<TypeId>) -> Map<String, Value> {
    outer.push(id);
    // Kind and version are on the envelope, never in the message.
    let is_kind = table.get(id).is_kind;
    let fields = table.get(id).json.iter();
    let fields = fields.filter(|field| !is_kind || !["apiVersion", "kind"].contains(&field.name));
    let entries =
        fields.filter_map(|field| Some((field.name.to_owned(), value(table, id, field, outer)?)));
    let entries = entries.collect();
    outer.pop();
    entries
}

fn value(table: &Table, id: TypeId, field: &Field, outer: &mut Vec<TypeId>) -> Option<Value> {
    Some(match field.shape {
        Shape::One(leaf) => self::leaf(table, id, field, leaf, outer)?,
        Shape::List(leaf) => {
            let item = self::leaf(table, id, field, leaf, outer)?;
            json!([item.clone(), item])
        }
        Shape::Map(leaf) => {
            let value = self::leaf(table, id, field, leaf, outer)?;
            json!({"a": value, "b": value})
        }
    })
}

fn leaf(
    table: &Table,
    id: TypeId,
    field: &Field,
    leaf: Leaf,
    outer: &mut Vec<TypeId>,
) -> Option<Value> {
    let mut nested = |id: TypeId| {
        let seen = outer.iter().filter(|other| **other == id).count();
        (seen <= REPEATS_MAX).then(|| Value::Object(structure(table, id, outer)))
    };
    Some(match leaf {
        Leaf::Bool => json!(true),
        Leaf::Int32 => json!(-7),
        Leaf::Int64 => json!(7_000_000_000_i64),
        Leaf::Double => json!(2.5),
        Leaf::Text => json!(format!("{} ü", field.name)),
        Leaf::Bytes => json!("AP9="),
        Leaf::Struct(inner) => nested(inner)?,
        Leaf::Special(special) => match special {
            Special::Time => json!("2026-11-16T02:11:06Z"),
            Special::MicroTime => json!("2026-11-16T02:11:06.123456Z"),
            Special::Quantity => json!("1500m"),
            Special::IntOrString if field.name.len().is_multiple_of(2) => json!("25%"),
            Special::IntOrString => json!(8080),
            Special::Json => json!({"any": ["thing", 1, null]}),
            Special::Texts => json!(["x", "y"]),
            Special::SchemaOrSchemas => nested(id)?,
            Special::SchemaOrBool => nested(id).unwrap_or(json!(true)),
            Special::SchemaOrTexts => nested(id).unwrap_or(json!(["a", "b"])),
        },
    })
}
