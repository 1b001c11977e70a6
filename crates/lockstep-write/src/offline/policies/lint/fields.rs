//! Fields that expressions read and write, compared with the schema of a kind.

use std::collections::BTreeSet;

use lockstep_admission::diff::shown;
use lockstep_admission::policy::{Dialect, Form};
use lockstep_catalog::{Origin, Served};
use lockstep_cel::Program;
use lockstep_cel::paths::{FieldPath, Segment};
use lockstep_kinds::{Leaf, Shape, Table};
use lockstep_merge::types::{ListRelation, MapRelation, Type};
use lockstep_object::{Object, Value};
use serde_json::json;

/// Variables that hold an object of the kind.
const OBJECTS: [&str; 2] = ["object", "oldObject"];

/// A kind in the version that a rule names.
pub(super) struct Kind {
    served: Served,
    /// Schema of the version, for custom resources.
    schema: Value,
    /// `apps/v1 Deployment`
    name: String,
}

impl Kind {
    pub(super) fn new(served: Served, objects: &[Object]) -> Self {
        let gvk = served.gvk();
        let version = match &*gvk.group {
            "" => gvk.version.to_string(),
            group => format!("{group}/{}", gvk.version),
        };
        let definition = objects.iter().find(|object| {
            object.kind() == "CustomResourceDefinition"
                && object.at(&["spec", "group"]).and_then(Value::as_str) == Some(&*gvk.group)
                && object
                    .at(&["spec", "names", "kind"])
                    .and_then(Value::as_str)
                    == Some(&*gvk.kind)
        });
        let versions = definition.and_then(|object| object.at(&["spec", "versions"]));
        let mut versions = versions.and_then(Value::as_array).into_iter().flatten();
        let schema = versions.find(|served| served["name"] == *gvk.version);
        Self {
            schema: schema.map_or(Value::Null, |served| {
                served["schema"]["openAPIV3Schema"].clone()
            }),
            name: format!("{version} {}", gvk.kind),
            served,
        }
    }

    fn root(&self) -> Option<Type<'_>> {
        let Served { resource, version } = &self.served;
        resource.strategy.merge_type(*version)
    }

    /// The number of steps of a path that the schema knows, and the type there.
    fn known(&self, path: &[Segment]) -> Option<(usize, Type<'_>)> {
        let mut ty = self.root()?;
        for (at, segment) in path.iter().enumerate() {
            match step(ty, segment) {
                Some(below) => ty = below,
                None => return Some((at, ty)),
            }
        }
        Some((path.len(), ty))
    }

    /// The reason why a merge cannot set this path.
    pub(super) fn cannot_write(
        &self,
        path: &[Segment],
        form: Form,
    ) -> Option<(&'static str, String)> {
        let (known, _) = self.known(path)?;
        if known < path.len() {
            let field = shown(&path[..=known]);
            return Some(("LP002", format!("{field} is not a field of {}", self.name)));
        }
        let Form::ApplyConfiguration(Dialect {
            replaces_atomics: false,
            ..
        }) = form
        else {
            return None;
        };
        let mut ty = self.root()?;
        for (at, segment) in path.iter().enumerate() {
            let is_declared = match segment {
                Segment::Field(name) => ty.field_type(name).is_some_and(|field| field.is_declared),
                Segment::Index(_) | Segment::Any => true,
            };
            // Below the values of maps, atomic ones are replaced in silence.
            if !is_declared {
                return None;
            }
            ty = step(ty, segment)?;
            if is_atomic(ty) {
                let field = shown(&path[..=at]);
                let message = format!(
                    "{field} of {} is atomic, so the merge is refused at each request; use a JSON patch, \
                     or atomics: Replace",
                    self.name
                );
                return Some(("LP004", message));
            }
        }
        None
    }

    /// True if a field is there in every object that has its parent: it is required, or has a default.
    fn is_always_there(&self, path: &[Segment]) -> bool {
        let top = match path {
            [Segment::Field(name)] => &**name,
            [Segment::Field(metadata), Segment::Field(name)] if &**metadata == "metadata" => {
                return matches!(&**name, "name" | "namespace" | "uid");
            }
            _ => "",
        };
        let is_image = matches!(path, [.., Segment::Any | Segment::Index(_), Segment::Field(name)] if &**name == "image");
        matches!(top, "apiVersion" | "kind" | "metadata")
            // Schemas do not require it, and validation does.
            || is_image && self.served.resource.origin == Origin::BuiltIn
            || self.is_required(path)
            || self.has_default(path)
    }

    fn is_required(&self, path: &[Segment]) -> bool {
        match self.served.resource.origin {
            Origin::BuiltIn | Origin::Own => self.is_required_of_table(path).unwrap_or(false),
            Origin::Custom => {
                let Some((Segment::Field(name), parents)) = path.split_last() else {
                    return true;
                };
                let mut schema = &self.schema;
                for segment in parents {
                    schema = match segment {
                        Segment::Field(name) if !schema["properties"][&**name].is_null() => {
                            &schema["properties"][&**name]
                        }
                        Segment::Field(_) => &schema["additionalProperties"],
                        Segment::Index(_) | Segment::Any => &schema["items"],
                    };
                }
                let required = schema["required"].as_array().into_iter().flatten();
                let mut required = required.filter_map(Value::as_str);
                required.any(|required| *required == **name)
            }
        }
    }

    fn is_required_of_table(&self, path: &[Segment]) -> Option<bool> {
        let gvk = self.served.gvk();
        let table = Table::builtin();
        let mut id = table.kind(&gvk.group, &gvk.version, &gvk.kind)?;
        let mut is_required = true;
        for segment in path {
            let Segment::Field(name) = segment else {
                // The element of a list is there, or the expression does not come to it.
                is_required = true;
                continue;
            };
            let field = table.get(id).field(name)?;
            is_required = field.is_required || name.as_ref() == "spec";
            let (Shape::One(leaf) | Shape::List(leaf) | Shape::Map(leaf)) = field.shape;
            if let Leaf::Struct(below) = leaf {
                id = below;
            }
        }
        Some(is_required)
    }

    /// True if defaulting an object that has the parents of the field sets the field.
    fn has_default(&self, path: &[Segment]) -> bool {
        let Some((Segment::Field(_), parents)) = path.split_last() else {
            return true;
        };
        let mut made = json!({});
        for segment in parents.iter().rev() {
            made = match segment {
                Segment::Field(name) => json!({ (&**name): made }),
                Segment::Index(_) | Segment::Any => json!([made]),
            };
        }
        let Ok(mut object) = Object::from_value(made) else {
            return false;
        };
        object.set_gvk(&self.served.gvk());
        let Served { resource, version } = &self.served;
        let strategy = &resource.strategy;
        if strategy
            .check_types(*version, &mut object, &mut Vec::new())
            .is_err()
        {
            return false;
        }
        strategy.prune_and_default(*version, &mut object, None);
        let mut value = object.as_value();
        for segment in path {
            let below = match segment {
                Segment::Field(name) => value.get(&**name),
                Segment::Index(_) | Segment::Any => value.get(0),
            };
            match below {
                Some(below) => value = below,
                None => return false,
            }
        }
        true
    }
}

fn step<'t>(ty: Type<'t>, segment: &Segment) -> Option<Type<'t>> {
    match segment {
        Segment::Field(name) => ty.field_type(name).map(|field| field.of),
        Segment::Index(_) => ty.item_type(),
        Segment::Any => ty
            .item_type()
            .or_else(|| ty.field_type("*").map(|field| field.of)),
    }
}

/// True for lists, maps and structs that are replaced as a whole, as opposed to values without a schema.
fn is_atomic(ty: Type<'_>) -> bool {
    matches!(
        (ty.list_relation(), ty.map_relation()),
        (Some(ListRelation::Atomic), None) | (None, Some(MapRelation::Atomic))
    )
}

/// Fields and keys that a policy tests for presence in any expression.
pub(super) struct Fields {
    probed: BTreeSet<Vec<Segment>>,
    texts: Vec<String>,
}

impl Fields {
    pub(super) fn of<'p>(programs: impl Iterator<Item = &'p Program>) -> Self {
        let mut fields = Self {
            probed: BTreeSet::new(),
            texts: Vec::new(),
        };
        for program in programs {
            let probed = program.probed_paths();
            let probed = probed.into_iter().map(|path| path.segments);
            fields.probed.extend(probed);
            fields.texts.push(program.text().to_owned());
        }
        fields
    }

    /// True for `"key" in map`.
    fn is_key_tested(&self, key: &str) -> bool {
        let tests = [format!("\"{key}\" in "), format!("'{key}' in ")];
        let is_test = |text: &String| tests.iter().any(|test| text.contains(test));
        self.texts.iter().any(is_test)
    }

    /// Problems of the fields that an expression reads.
    pub(super) fn problems(
        &self,
        program: &Program,
        kinds: &[Kind],
    ) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        let reads = program.paths().reads;
        let reads = reads
            .iter()
            .filter(|read| OBJECTS.contains(&&*read.variable));
        for read in reads {
            for kind in kinds {
                problems.extend(self.problem(read, kind, program));
            }
        }
        problems.sort();
        problems.dedup();
        problems
    }

    fn problem(
        &self,
        read: &FieldPath,
        kind: &Kind,
        program: &Program,
    ) -> Option<(&'static str, String)> {
        let path = &read.segments;
        let (known, _) = kind.known(path)?;
        if known < path.len() {
            let field = &path[..=known];
            let message = format!(
                "{}{} is not a field of {}",
                read.variable,
                shown(field),
                kind.name
            );
            return Some(("LP002", message));
        }
        let absent = (1..=path.len()).find(|end| {
            let prefix = &path[..*end];
            let Some((Segment::Field(name), parents)) = prefix.split_last() else {
                return false;
            };
            let is_tested = self.probed.contains(prefix)
                || self.is_key_tested(name) && is_key(kind, parents, name);
            !is_tested && !kind.is_always_there(prefix)
        })?;
        // The expression yields the value as it is, or hands it to a function that takes what may be absent.
        let field = shown(&path[..absent]);
        let variable = &read.variable;
        let is_optional = program
            .probed_paths()
            .iter()
            .any(|probed| probed.is_within(read));
        if is_optional {
            return None;
        }
        let message = format!(
            "{variable}{field} may be absent from {}, and reading it then is an error (no such key); \
             test it with has(), or read it with .? and orValue()",
            kind.name
        );
        Some(("LP003", message))
    }
}

/// True if a name is a key of a map, as opposed to a field of a struct.
fn is_key(kind: &Kind, parents: &[Segment], name: &str) -> bool {
    let Some((known, ty)) = kind.known(parents) else {
        return false;
    };
    known == parents.len() && ty.field_type(name).is_some_and(|field| !field.is_declared)
}
