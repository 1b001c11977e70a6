//! The kind table: types, fields and kinds.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::format;

/// The facts, in the form that [`format`] describes.
const TEXT: &str = include_str!("../data/kinds.txt");

static BUILTIN: LazyLock<Table> = LazyLock::new(|| {
    format::parse(TEXT).expect("the table of this repository is read by its own tests")
});

/// All types of the built-in kinds. Never changes.
#[derive(Debug)]
pub struct Table {
    packages: Vec<Package>,
    types: Vec<Type>,
    kinds: HashMap<(&'static str, &'static str, &'static str), TypeId>,
    published: HashMap<(&'static str, &'static str), TypeId>,
}

/// A Go package of types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// Short name in the table: `core/v1`.
    pub short: &'static str,
    /// Prefix of published schema names: `io.k8s.api.core.v1`.
    pub published: &'static str,
    /// Group and version of its kinds.
    pub served: Option<(&'static str, &'static str)>,
}

/// A type of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(crate) u32);

/// A struct.
#[derive(Debug)]
pub struct Type {
    /// `Container`
    pub name: &'static str,
    pub(crate) package: usize,
    /// True if objects have `apiVersion` and `kind`.
    pub is_kind: bool,
    /// True for an atomic struct.
    pub is_atomic: bool,
    pub(crate) unions: &'static str,
    /// As protobuf has them, by tag; structs that are inlined are one field with an empty name.
    pub fields: Box<[Field]>,
    /// As JSON has them: inlined structs dissolved, sorted by name.
    pub json: Box<[Field]>,
}

/// A field of a struct.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// JSON name; empty for an inlined struct.
    pub name: &'static str,
    /// Type of the field.
    pub shape: Shape,
    /// True for a Go pointer, which distinguishes absent from zero.
    pub is_pointer: bool,
    /// Condition under which JSON omits the field.
    pub omit: Omit,
    /// True if schemas require it.
    pub is_required: bool,
    /// Its number in protobuf; 0 if it has none.
    pub tag: u32,
    pub(crate) expression: &'static str,
    pub(crate) facts: &'static str,
}

/// Condition under which JSON omits a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Omit {
    /// It is always there.
    Never,
    /// It holds nothing: false, 0, an empty text, list or map, nil; a struct is never empty.
    Empty,
    /// It holds nothing; also a struct.
    Zero,
}

/// One value, or several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One.
    One(Leaf),
    /// A list.
    List(Leaf),
    /// A map with texts as keys.
    Map(Leaf),
}

/// Type of a single value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaf {
    /// Yes or no.
    Bool,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A floating-point number.
    Double,
    /// A text.
    Text,
    /// Bytes; in JSON as base64.
    Bytes,
    /// A struct of the table.
    Struct(TypeId),
    /// A type with its own form in JSON, in protobuf, or both.
    Special(Special),
}

/// A type with its own form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Whole seconds, RFC 3339.
    Time,
    /// Microseconds, RFC 3339.
    MicroTime,
    /// An amount with a unit.
    Quantity,
    /// A number or a text.
    IntOrString,
    /// Any JSON.
    Json,
    /// A list of texts that is a message in protobuf.
    Texts,
    /// A schema or a list of schemas.
    SchemaOrSchemas,
    /// A schema or a boolean.
    SchemaOrBool,
    /// A schema or a list of texts.
    SchemaOrTexts,
}

impl Special {
    /// Package, name and meaning of each.
    pub(crate) const NAMES: &[(&str, &str, Self)] = &[
        ("meta/v1", "Time", Self::Time),
        ("meta/v1", "MicroTime", Self::MicroTime),
        ("meta/v1", "FieldsV1", Self::Json),
        ("meta/v1", "Verbs", Self::Texts),
        ("resource", "Quantity", Self::Quantity),
        ("runtime", "RawExtension", Self::Json),
        ("intstr", "IntOrString", Self::IntOrString),
        ("authentication/v1", "ExtraValue", Self::Texts),
        ("authorization/v1", "ExtraValue", Self::Texts),
        ("certificates/v1", "ExtraValue", Self::Texts),
        ("apiextensions/v1", "JSON", Self::Json),
        (
            "apiextensions/v1",
            "JSONSchemaPropsOrArray",
            Self::SchemaOrSchemas,
        ),
        (
            "apiextensions/v1",
            "JSONSchemaPropsOrBool",
            Self::SchemaOrBool,
        ),
        (
            "apiextensions/v1",
            "JSONSchemaPropsOrStringArray",
            Self::SchemaOrTexts,
        ),
    ];
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListType<'a> {
    /// As a whole.
    Atomic,
    /// By its values.
    Set,
    /// By these fields of its items, separated by commas.
    Map(&'a str),
}

impl Table {
    /// The table of this build, read at its first use.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    pub(crate) fn new(packages: Vec<Package>, types: Vec<Type>) -> Self {
        let mut table = Self {
            packages,
            types,
            kinds: HashMap::new(),
            published: HashMap::new(),
        };
        for at in 0..table.types.len() {
            let mut fields = Vec::new();
            table.dissolve(&table.types[at], &mut fields);
            fields.sort_by_key(|field| field.name);
            table.types[at].json = fields.into();
            table.types[at].fields.sort_by_key(|field| field.tag);
        }
        for (at, row) in table.types.iter().enumerate() {
            let id = TypeId(u32::try_from(at).unwrap_or(u32::MAX));
            let package = &table.packages[row.package];
            table.published.insert((package.published, row.name), id);
            if let Some((group, version)) = package.served.filter(|_| row.is_kind) {
                table.kinds.insert((group, version, row.name), id);
            }
        }
        table
    }

    fn dissolve(&self, from: &Type, fields: &mut Vec<Field>) {
        for field in &from.fields {
            match field.shape {
                Shape::One(Leaf::Struct(id)) if field.name.is_empty() => {
                    self.dissolve(self.get(id), fields);
                }
                _ => fields.push(*field),
            }
        }
    }

    /// The type of a kind.
    pub fn kind(&self, group: &str, version: &str, kind: &str) -> Option<TypeId> {
        self.kinds.get(&(group, version, kind)).copied()
    }

    /// A type by the name of its schema: `io.k8s.api.core.v1.Container`.
    pub fn published(&self, name: &str) -> Option<TypeId> {
        self.published.get(&name.rsplit_once('.')?).copied()
    }

    /// All types, in the order of the table.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        let types = self.types.iter().zip(0..);
        types.map(|(row, at)| (TypeId(at), row))
    }

    /// A type.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.types[id.0 as usize]
    }

    /// The package of a type.
    pub fn package(&self, id: TypeId) -> &Package {
        &self.packages[self.get(id).package]
    }

    /// The name of a type's schema.
    pub fn published_name(&self, id: TypeId) -> String {
        format!("{}.{}", self.package(id).published, self.get(id).name)
    }
}

impl Type {
    /// A field by its name in JSON.
    pub fn field(&self, name: &str) -> Option<&Field> {
        let at = self.json.binary_search_by_key(&name, |field| field.name);
        at.ok().map(|at| &self.json[at])
    }

    /// A field by its number in protobuf.
    pub fn tagged(&self, tag: u32) -> Option<&Field> {
        // Most types number their fields in order.
        let guess = usize::try_from(tag).ok()?.checked_sub(1)?;
        match self.fields.get(guess) {
            Some(field) if field.tag == tag => Some(field),
            _ => self.fields.iter().find(|field| field.tag == tag),
        }
    }
}

impl Field {
    fn fact(&self, name: &str) -> Option<&'static str> {
        let mut facts = self.facts.split(' ');
        facts.find_map(|fact| fact.strip_prefix(name)?.strip_prefix('='))
    }

    /// `patchStrategy` tag: `merge`, `merge,retainKeys`.
    pub fn patch_strategy(&self) -> Option<&'static str> {
        self.fact("ps")
    }

    /// `patchMergeKey` tag.
    pub fn patch_merge_key(&self) -> Option<&'static str> {
        self.fact("pk")
    }

    /// `x-kubernetes-list-type` of the field.
    pub fn list_type(&self) -> Option<ListType<'static>> {
        Some(match self.fact("list")? {
            "set" => ListType::Set,
            "atomic" => ListType::Atomic,
            other => ListType::Map(other.strip_prefix("map:")?),
        })
    }

    /// `x-kubernetes-map-type` of the field: `atomic` or `granular`.
    pub fn map_type(&self) -> Option<&'static str> {
        self.fact("map")
    }

    /// True for `RawExtension`: an embedded object that is not decoded.
    pub fn is_opaque(&self) -> bool {
        self.expression.ends_with("RawExtension")
    }

    /// The values it may have, if the schema lists them.
    pub fn enumeration(&self) -> Option<Vec<String>> {
        let values = self.fact("enum")?.split('|');
        Some(values.map(|value| value.replace('~', " ")).collect())
    }

    /// Default in the schema, if it differs from the type's; `-` for none.
    pub(crate) fn default(&self) -> Option<&'static str> {
        self.fact("default")
    }
}
