//! Defaulting of built-in kinds.
//!
//! Most defaults are a table by type (`data/defaults.txt`); defaults that depend on other fields are functions. A
//! struct is defaulted before the structs inside it, and absent structs are not created.

mod pods;
mod services;
mod structs;
mod workloads;

pub(crate) use pods::same_account;

use std::collections::HashMap;
use std::sync::LazyLock;

use lockstep_kinds::{Leaf, Shape, Table, Type, TypeId};
use lockstep_object::{Map, Value};

const TEXT: &str = include_str!("../../data/defaults.txt");

/// Fills in the defaults of an object of a kind.
pub fn fill(kind: TypeId, object: &mut Map<String, Value>) {
    static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| Defaults::of(Table::builtin()));
    DEFAULTS.structure(kind, object);
}

type Fields = Map<String, Value>;

/// Defaults of a struct type.
#[derive(Default)]
struct Struct {
    /// Defaults that depend on other fields; applied last.
    compute: Option<fn(&mut Fields)>,
    /// Fields with their values, and whether zero counts as a value.
    fields: Vec<(&'static str, Value, bool)>,
    /// Fields with structs in them that have defaults somewhere.
    inside: Vec<(&'static str, Shape)>,
}

/// The structs with defaults somewhere.
struct Defaults {
    table: &'static Table,
    structs: HashMap<TypeId, Struct>,
}

impl Defaults {
    fn of(table: &'static Table) -> Self {
        let mut structs: HashMap<TypeId, Struct> = HashMap::new();
        for (id, kind) in table.types() {
            let package = table.package(id).short;
            if let Some(compute) = structs::of(package, kind.name) {
                structs.entry(id).or_default().compute = Some(compute);
            }
        }
        for (id, field, value) in rows(table) {
            let keeps_zero = field_of(table.get(id), field).is_pointer;
            let entry = structs.entry(id).or_default();
            entry.fields.push((field, value, keeps_zero));
        }
        let mut defaults = Self { table, structs };
        defaults.connect();
        defaults
    }

    /// Finds the structs with others inside that have defaults.
    fn connect(&mut self) {
        loop {
            let mut found = Vec::new();
            for (id, kind) in self.table.types() {
                let known = self.structs.get(&id);
                let is_known = |name: &str| {
                    known.is_some_and(|known| known.inside.iter().any(|(field, _)| *field == name))
                };
                let missing = kind.json.iter().filter(|field| {
                    struct_in(field.shape).is_some_and(|inner| self.structs.contains_key(&inner))
                        && !is_known(field.name)
                });
                found.extend(missing.map(|field| (id, field.name, field.shape)));
            }
            if found.is_empty() {
                return;
            }
            for (id, field, shape) in found {
                let entry = self.structs.entry(id).or_default();
                entry.inside.push((field, shape));
            }
        }
    }

    fn structure(&self, id: TypeId, fields: &mut Fields) {
        let Some(known) = self.structs.get(&id) else {
            return;
        };
        for (name, value, keeps_zero) in &known.fields {
            let present = fields.get(*name);
            if present.is_none_or(|present| present.is_null() || (!keeps_zero && is_zero(present)))
            {
                fields.insert((*name).to_owned(), value.clone());
            }
        }
        if let Some(compute) = known.compute {
            compute(fields);
        }
        for (name, shape) in &known.inside {
            let Some(value) = fields.get_mut(*name) else {
                continue;
            };
            if let Some(inner) = struct_in(*shape) {
                self.inside(inner, *shape, value);
            }
        }
    }

    fn inside(&self, id: TypeId, shape: Shape, value: &mut Value) {
        match (shape, value) {
            (Shape::One(_), Value::Object(fields)) => self.structure(id, fields),
            (Shape::List(_), Value::Array(items)) => {
                for item in items.iter_mut().filter_map(Value::as_object_mut) {
                    self.structure(id, item);
                }
            }
            (Shape::Map(_), Value::Object(entries)) => {
                for item in entries.values_mut().filter_map(Value::as_object_mut) {
                    self.structure(id, item);
                }
            }
            _ => {}
        }
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(value) => !value,
        Value::Array(items) => items.is_empty(),
        Value::Null | Value::Object(_) => false,
    }
}

/// The struct that a field holds, or holds many of.
fn struct_in(shape: Shape) -> Option<TypeId> {
    let (Shape::One(leaf) | Shape::List(leaf) | Shape::Map(leaf)) = shape;
    match leaf {
        Leaf::Struct(id) => Some(id),
        _ => None,
    }
}

fn field_of<'t>(kind: &'t Type, name: &str) -> &'t lockstep_kinds::Field {
    kind.field(name)
        .unwrap_or_else(|| panic!("`{}` of the defaults is a field of {}", name, kind.name))
}

/// The rows of the table.
fn rows(table: &Table) -> Vec<(TypeId, &'static str, Value)> {
    let mut rows = Vec::new();
    let mut current = None;
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix(' ') {
            None => {
                let found = line.split_once(' ').and_then(|(package, name)| {
                    let mut types = table.types();
                    types
                        .find(|(id, kind)| kind.name == name && table.package(*id).short == package)
                });
                let (id, _) = found.expect("every type of the defaults is in the table of kinds");
                current = Some(id);
            }
            Some(row) => {
                let (field, value) = row.split_once(' ').expect("a row has a value");
                let value = serde_json::from_str(value).expect("a default is JSON");
                rows.push((current.expect("a row is below a type"), field, value));
            }
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_defaults_names_types_and_fields_that_there_are() {
        let defaults = Defaults::of(Table::builtin());
        let rows: usize = defaults.structs.values().map(|row| row.fields.len()).sum();
        assert_eq!(rows, rows_of_the_text());
    }

    fn rows_of_the_text() -> usize {
        TEXT.lines().filter(|line| line.starts_with(' ')).count()
    }

    #[test]
    fn every_function_is_of_a_type_of_the_table() {
        let table = Table::builtin();
        for (package, name, ..) in structs::TABLE {
            let mut types = table.types();
            let is_there =
                types.any(|(id, kind)| kind.name == *name && table.package(id).short == *package);
            assert!(is_there, "{package} {name}");
        }
    }
}
