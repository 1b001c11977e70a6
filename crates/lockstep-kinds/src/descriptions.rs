//! Descriptions of types and fields: `data/descriptions.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::table::{Field, Leaf, Shape, Table, TypeId};

static TEXT: &str = include_str!("../data/descriptions.txt");
static DESCRIPTIONS: LazyLock<Descriptions> = LazyLock::new(|| Descriptions::read(TEXT));

/// A package and a type of it.
type TypeName<'a> = (&'a str, &'a str);

/// The rows of the file.
#[derive(Default)]
struct Descriptions {
    types: HashMap<TypeName<'static>, &'static str>,
    /// By the type that has them; without one for fields that mean the same everywhere.
    fields: HashMap<(Option<TypeName<'static>>, &'static str), &'static str>,
}

impl Descriptions {
    fn read(text: &'static str) -> Self {
        let (mut all, mut owner) = (Self::default(), None);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(field) = line.strip_prefix(' ') {
                let (name, words) = field.split_once(' ').unwrap_or((field, ""));
                all.fields.insert((owner, name), words);
            } else if let Some(kind) = line.strip_prefix("type ") {
                let (package, rest) = kind.split_once(' ').unwrap_or((kind, ""));
                let (name, words) = rest.split_once(' ').unwrap_or((rest, ""));
                all.types.insert((package, name), words);
                owner = Some((package, name));
            }
        }
        all
    }

    fn field(&self, owner: TypeName<'static>, name: &'static str) -> Option<&'static str> {
        let own = self.fields.get(&(Some(owner), name));
        own.or_else(|| self.fields.get(&(None, name))).copied()
    }
}

fn name(table: &Table, id: TypeId) -> TypeName<'static> {
    (table.package(id).short, table.get(id).name)
}

/// Description of a type, if there is one.
pub(crate) fn of_type(table: &Table, id: TypeId) -> Option<&'static str> {
    DESCRIPTIONS.types.get(&name(table, id)).copied()
}

/// Description of a field: its own, the one shared by fields of its name, or that of its type.
pub(crate) fn of_field(table: &Table, id: TypeId, field: &Field) -> Option<&'static str> {
    let of_its_type = || match field.shape {
        Shape::One(Leaf::Struct(inner)) | Shape::List(Leaf::Struct(inner)) => of_type(table, inner),
        _ => None,
    };
    let own = DESCRIPTIONS.field(name(table, id), field.name);
    own.or_else(of_its_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(table: &Table, wanted: TypeName<'_>) -> Option<TypeId> {
        let mut types = table.types().map(|(id, _)| id);
        types.find(|id| name(table, *id) == wanted)
    }

    #[test]
    fn every_row_is_of_a_type_and_a_field_that_exist() {
        let table = Table::builtin();
        let missing = DESCRIPTIONS
            .types
            .keys()
            .filter(|name| id(table, **name).is_none());
        assert_eq!(missing.collect::<Vec<_>>(), Vec::<&TypeName<'_>>::new());
        let fields = DESCRIPTIONS
            .fields
            .keys()
            .filter_map(|(owner, field)| Some((owner.as_ref()?, field)));
        let missing = fields.filter(|(owner, field)| {
            let kind = table.get(id(table, **owner).expect("checked above"));
            !kind.json.iter().any(|known| known.name == **field)
        });
        assert_eq!(missing.collect::<Vec<_>>(), Vec::new());
    }

    #[test]
    fn every_kind_is_described() {
        let table = Table::builtin();
        let kinds = table.types().filter(|(_, kind)| {
            kind.is_kind
                && !kind.name.ends_with("List")
                && kind.json.iter().any(|field| field.name == "metadata")
        });
        let silent = kinds
            .map(|(id, _)| id)
            .filter(|id| of_type(table, *id).is_none());
        let names: Vec<_> = silent.map(|id| name(table, id)).collect();
        let never_served = [
            ("meta/v1", "PartialObjectMetadata"),
            ("core/v1", "ComponentStatus"),
            ("core/v1", "PodStatusResult"),
            ("core/v1", "RangeAllocation"),
        ];
        assert_eq!(names, never_served);
    }
}
