//! Types of built-in kinds, built from the kind table.

use std::collections::BTreeMap;

use lockstep_kinds::{Field, Leaf, ListType, Shape as FieldShape, Special, Table, TypeId};

use super::{
    ANY_SCALAR, BOOLEAN, DEDUCED, Fields, Key, List, NUMBER, Relation, TEXT, Type, TypeDef,
    TypeDefId, Types, UNTYPED,
};

/// Merge types of all built-in kinds.
#[derive(Debug)]
pub struct BuiltInTypes {
    types: Types,
    kinds: BTreeMap<TypeId, TypeDefId>,
}

impl BuiltInTypes {
    /// Builds the types of a table.
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

/// Builder that converts structs of the table to types.
pub(super) struct Structs<'a> {
    table: &'a Table,
    types: &'a mut Types,
    known: BTreeMap<TypeId, TypeDefId>,
}

impl<'a> Structs<'a> {
    pub(super) fn new(table: &'a Table, types: &'a mut Types) -> Self {
        Self {
            table,
            types,
            known: BTreeMap::new(),
        }
    }

    /// Adds the type of a struct and of everything it contains.
    pub(super) fn add(&mut self, id: TypeId) -> TypeDefId {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let def = self.types.add(TypeDef::default());
        self.known.insert(id, def);
        let kind = self.table.get(id);
        let mut declared = BTreeMap::new();
        for field in &kind.json {
            let of_field = self.field(field);
            declared.insert(field.name.into(), of_field);
        }
        let rest = declared.is_empty().then_some(DEDUCED);
        self.types.defs[def.0 as usize].map = Some(Fields {
            declared,
            rest,
            is_atomic: kind.is_atomic,
        });
        def
    }

    fn field(&mut self, field: &Field) -> TypeDefId {
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
                self.types.add(TypeDef {
                    map: Some(map),
                    ..TypeDef::default()
                })
            }
        }
    }

    fn leaf(&mut self, leaf: Leaf) -> TypeDefId {
        match leaf {
            Leaf::Bool => BOOLEAN,
            Leaf::Int32 | Leaf::Int64 | Leaf::Double => NUMBER,
            Leaf::Text | Leaf::Bytes => TEXT,
            Leaf::Struct(id) => self.add(id),
            Leaf::Special(special) => match special {
                Special::Time | Special::MicroTime | Special::Quantity => ANY_SCALAR,
                Special::Texts => self.types.add(TypeDef {
                    list: Some(List {
                        items: TEXT,
                        relation: Relation::Atomic,
                    }),
                    ..TypeDef::default()
                }),
                Special::IntOrString
                | Special::Json
                | Special::SchemaOrSchemas
                | Special::SchemaOrBool
                | Special::SchemaOrTexts => DEDUCED,
            },
        }
    }

    /// Copies a struct type with a different granularity (`x-kubernetes-map-type` on the field).
    fn redefined(&mut self, id: TypeDefId, map_type: &str) -> TypeDefId {
        let mut def = self.types.get(id).clone();
        if let Some(map) = &mut def.map {
            map.is_atomic = map_type == "atomic";
        }
        self.types.add(def)
    }

    fn list(&mut self, field: &Field, items: TypeDefId, of: Option<TypeId>) -> TypeDefId {
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
        self.types.add(TypeDef {
            list: Some(List { items, relation }),
            ..TypeDef::default()
        })
    }
}
