//! Types of built-in kinds, from the table of kinds.

use std::collections::BTreeMap;

use lockstep_kinds::{Field, Leaf, ListType, Shape as FieldShape, Special, Table, TypeId};

use super::{
    ANY_SCALAR, BOOLEAN, DEDUCED, Fields, Key, List, NUMBER, Relation, Shape, ShapeId, TEXT, Type,
    Types, UNTYPED,
};

/// The types of every built-in kind.
#[derive(Debug)]
pub struct BuiltInTypes {
    types: Types,
    kinds: BTreeMap<TypeId, ShapeId>,
}

impl BuiltInTypes {
    /// All types of a table.
    pub fn of(table: &Table) -> Self {
        let mut types = Types::begin();
        let mut structs = Structs::new(table, &mut types);
        let ids: Vec<TypeId> = table.types().map(|(id, _)| id).collect();
        for id in ids {
            structs.add(id);
        }
        let kinds = structs.known;
        Self { types, kinds }
    }

    /// The type of a struct of the table.
    pub fn get(&self, id: TypeId) -> Option<Type<'_>> {
        Some(self.types.at(*self.kinds.get(&id)?))
    }
}

/// Structs of the table on their way into types.
pub(super) struct Structs<'a> {
    table: &'a Table,
    types: &'a mut Types,
    known: BTreeMap<TypeId, ShapeId>,
}

impl<'a> Structs<'a> {
    pub(super) fn new(table: &'a Table, types: &'a mut Types) -> Self {
        Self {
            table,
            types,
            known: BTreeMap::new(),
        }
    }

    /// The type of a struct and of all that it holds.
    pub(super) fn add(&mut self, id: TypeId) -> ShapeId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let shape = self.types.add(Shape::default());
        self.known.insert(id, shape);
        let kind = self.table.get(id);
        let mut declared = BTreeMap::new();
        for field in &kind.json {
            let of_field = self.field(field);
            declared.insert(field.name.into(), of_field);
        }
        let rest = declared.is_empty().then_some(DEDUCED);
        self.types.shapes[shape.0 as usize].map = Some(Fields {
            declared,
            rest,
            is_atomic: kind.is_atomic,
        });
        shape
    }

    fn field(&mut self, field: &Field) -> ShapeId {
        match field.shape {
            FieldShape::One(Leaf::Special(Special::Texts)) => self.list(field, TEXT, None),
            FieldShape::One(_) if field.is_opaque() => UNTYPED,
            FieldShape::One(leaf) => {
                let one = self.leaf(leaf);
                match (leaf, field.map_type()) {
                    (Leaf::Struct(_), Some(map_type)) => self.redefined(one, map_type),
                    _ => one,
                }
            }
            FieldShape::List(leaf) => {
                let items = self.leaf(leaf);
                let struct_of_items = match leaf {
                    Leaf::Struct(id) => Some(id),
                    _ => None,
                };
                self.list(field, items, struct_of_items)
            }
            FieldShape::Map(leaf) => {
                let rest = Some(self.leaf(leaf));
                let map = Fields {
                    declared: BTreeMap::new(),
                    rest,
                    is_atomic: field.map_type() == Some("atomic"),
                };
                self.types.add(Shape {
                    map: Some(map),
                    ..Shape::default()
                })
            }
        }
    }

    fn leaf(&mut self, leaf: Leaf) -> ShapeId {
        match leaf {
            Leaf::Bool => BOOLEAN,
            Leaf::Int32 | Leaf::Int64 | Leaf::Double => NUMBER,
            Leaf::Text | Leaf::Bytes => TEXT,
            Leaf::Struct(id) => self.add(id),
            Leaf::Special(special) => match special {
                Special::Time | Special::MicroTime | Special::Quantity => ANY_SCALAR,
                Special::Texts => self.types.add(Shape {
                    list: Some(List {
                        items: TEXT,
                        relation: Relation::Atomic,
                    }),
                    ..Shape::default()
                }),
                Special::IntOrString
                | Special::Json
                | Special::SchemaOrSchemas
                | Special::SchemaOrBool
                | Special::SchemaOrTexts => DEDUCED,
            },
        }
    }

    /// A struct with another granularity than its type has.
    fn redefined(&mut self, id: ShapeId, map_type: &str) -> ShapeId {
        let mut shape = self.types.get(id).clone();
        if let Some(map) = &mut shape.map {
            map.is_atomic = map_type == "atomic";
        }
        self.types.add(shape)
    }

    fn list(&mut self, field: &Field, items: ShapeId, of: Option<TypeId>) -> ShapeId {
        let keys = |names: &str| {
            let key = |name: &str| Key {
                name: name.into(),
                default: of
                    .and_then(|id| self.table.get(id).field(name))
                    .and_then(Field::schema_default),
            };
            Relation::Keys(names.split(',').map(key).collect())
        };
        let is_merged = field
            .patch_strategy()
            .is_some_and(|words| words.split(',').any(|word| word == "merge"));
        let relation = match (field.list_type(), field.patch_merge_key()) {
            (Some(ListType::Set), _) => Relation::Set,
            (Some(ListType::Map(names)), _) => keys(names),
            (None, Some(name)) if is_merged => keys(name),
            (None, None) if is_merged => Relation::Set,
            (Some(ListType::Atomic) | None, _) => Relation::Atomic,
        };
        self.types.add(Shape {
            list: Some(List { items, relation }),
            ..Shape::default()
        })
    }
}
