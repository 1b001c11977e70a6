//! Text format of the kind table.
//!
//! The first line has the format name and a checksum of the rest. Then, one per line: `package SHORT PUBLISHED GROUP
//! VERSION`; `name NAME TYPE`, a named scalar, list or map of the package; `type NAME [kind] [atomic] [unions=JSON]`;
//! and below a type its fields in declaration order, indented by a space: `NAME TYPE TAG FLAGS [FACT=VALUE]…`. The name
//! of an inlined struct is `.`; a pointer type begins with `*`; flags are `o` omitempty, `z` omitzero, `r` required.
//! `-` stands for an empty value, `core` for the core group.

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

use crate::table::{Field, Leaf, Omit, Package, Shape, Special, Table, Type, TypeId};

const MAGIC: &str = "lockstep-kinds 1 sha256:";

/// Errors of parsing the table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The first line is missing, of another format, or its sum is not that of the rest.
    #[error("the first line is not `{MAGIC}` and the sum of the rest")]
    Seal,
    /// Unparseable line.
    #[error("line {0} cannot be read")]
    Line(usize),
    /// A name that no package has.
    #[error("`{0}` is not known")]
    Name(String),
}

/// A text with its first line.
pub fn sealed(text: &str) -> String {
    format!("{MAGIC}{}\n{text}", sum(text))
}

/// The text below the first line, if that line is right.
pub fn unsealed(text: &str) -> Result<&str, FormatError> {
    let (first, rest) = text.split_once('\n').ok_or(FormatError::Seal)?;
    let told = first.strip_prefix(MAGIC).ok_or(FormatError::Seal)?;
    if told == sum(rest) {
        Ok(rest)
    } else {
        Err(FormatError::Seal)
    }
}

fn sum(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses a table. The checksum is not verified here; the code that writes the table checks it.
pub fn parse(text: &'static str) -> Result<Table, FormatError> {
    let lines = text.lines().enumerate().skip(1);
    let mut reader = Reader::default();
    for (at, line) in lines {
        reader.line(line).ok_or(FormatError::Line(at + 1))?;
    }
    reader.finish()
}

/// Meaning of a name in a package.
#[derive(Clone, Copy)]
enum Meaning {
    Type(TypeId),
    Special(Special),
    Named {
        expression: &'static str,
        package: usize,
    },
}

/// A field whose type is still text.
struct RawField {
    field: Field,
    package: usize,
}

#[derive(Default)]
struct Reader {
    packages: Vec<Package>,
    types: Vec<(Type, Vec<RawField>)>,
    meanings: HashMap<(&'static str, &'static str), Meaning>,
}

impl Reader {
    fn line(&mut self, line: &'static str) -> Option<()> {
        if let Some(row) = line.strip_prefix(' ') {
            return self.field(row);
        }
        let (keyword, rest) = line.split_once(' ')?;
        match keyword {
            "package" => self.package(rest),
            "name" => {
                let (name, expression) = rest.split_once(' ')?;
                let package = self.packages.len() - 1;
                let meaning = Meaning::Named {
                    expression,
                    package,
                };
                self.meanings
                    .insert((self.packages.last()?.short, name), meaning);
                Some(())
            }
            "type" => self.type_line(rest),
            _ => None,
        }
    }

    fn package(&mut self, rest: &'static str) -> Option<()> {
        let mut words = rest.split(' ');
        let (short, published) = (words.next()?, words.next()?);
        let (group, version) = (words.next()?, words.next()?);
        let group = match group {
            "-" => None,
            "core" => Some(""),
            group => Some(group),
        };
        for (package, name, special) in Special::NAMES {
            if *package == short {
                self.meanings
                    .insert((short, *name), Meaning::Special(*special));
            }
        }
        self.packages.push(Package {
            short,
            published,
            served: group.map(|group| (group, version)),
        });
        Some(())
    }

    fn type_line(&mut self, rest: &'static str) -> Option<()> {
        let mut words = rest.split(' ');
        let name = words.next()?;
        let mut made = Type {
            name,
            package: self.packages.len() - 1,
            is_kind: false,
            is_atomic: false,
            unions: "",
            fields: Box::default(),
            json: Box::default(),
        };
        for word in words {
            match word {
                "kind" => made.is_kind = true,
                "atomic" => made.is_atomic = true,
                _ => made.unions = word.strip_prefix("unions=")?,
            }
        }
        let id = TypeId(u32::try_from(self.types.len()).ok()?);
        let package = self.packages.last()?.short;
        self.meanings.insert((package, name), Meaning::Type(id));
        self.types.push((made, Vec::new()));
        Some(())
    }

    fn field(&mut self, row: &'static str) -> Option<()> {
        let mut words = row.splitn(5, ' ');
        let (name, expression) = (words.next()?, words.next()?);
        let (tag, flags) = (words.next()?, words.next()?);
        let package = self.packages.len() - 1;
        let field = Field {
            name: if name == "." { "" } else { name },
            shape: Shape::One(Leaf::Text),
            is_pointer: expression.starts_with('*'),
            omit: match (flags.contains('o'), flags.contains('z')) {
                (_, true) => Omit::Zero,
                (true, false) => Omit::Empty,
                (false, false) => Omit::Never,
            },
            is_required: flags.contains('r'),
            tag: if tag == "-" { 0 } else { tag.parse().ok()? },
            expression: expression.trim_start_matches('*'),
            facts: words.next().unwrap_or_default(),
        };
        self.types.last_mut()?.1.push(RawField { field, package });
        Some(())
    }

    fn finish(self) -> Result<Table, FormatError> {
        let Self {
            packages,
            types,
            meanings,
        } = self;
        let resolve = |raw: &RawField| {
            let shape = shape(&packages, &meanings, raw.field.expression, raw.package)?;
            Ok(Field { shape, ..raw.field })
        };
        let mut made = Vec::with_capacity(types.len());
        for (kind, raw) in types {
            let fields: Result<Box<[Field]>, FormatError> = raw.iter().map(resolve).collect();
            made.push(Type {
                fields: fields?,
                ..kind
            });
        }
        Ok(Table::new(packages, made))
    }
}

/// Resolves a type expression in a package.
fn shape(
    packages: &[Package],
    meanings: &HashMap<(&'static str, &'static str), Meaning>,
    expression: &'static str,
    package: usize,
) -> Result<Shape, FormatError> {
    let leaf = |expression: &'static str| {
        let unknown = || FormatError::Name(expression.to_owned());
        match shape(packages, meanings, expression, package)? {
            Shape::One(leaf) => Ok(leaf),
            Shape::List(_) | Shape::Map(_) => Err(unknown()),
        }
    };
    if let Some(item) = expression.strip_prefix("[]") {
        return leaf(item).map(Shape::List);
    }
    if let Some((_, value)) = expression.split_once(']') {
        return leaf(value).map(Shape::Map);
    }
    let plain = match expression {
        "bool" => Leaf::Bool,
        "bytes" => Leaf::Bytes,
        "float64" => Leaf::Double,
        "int32" => Leaf::Int32,
        "int64" => Leaf::Int64,
        "string" | "types.UID" => Leaf::Text,
        _ => {
            let (from, name) = match expression.rsplit_once('.') {
                Some((from, name)) => (from, name),
                None => (packages[package].short, expression),
            };
            return match meanings.get(&(from, name)) {
                Some(Meaning::Type(id)) => Ok(Shape::One(Leaf::Struct(*id))),
                Some(Meaning::Special(special)) => Ok(Shape::One(Leaf::Special(*special))),
                Some(Meaning::Named {
                    expression,
                    package,
                }) => shape(packages, meanings, expression, *package),
                None => Err(FormatError::Name(expression.to_owned())),
            };
        }
    };
    Ok(Shape::One(plain))
}
