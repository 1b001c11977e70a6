//! The resource that a CRD defines.

use std::sync::{Arc, OnceLock};

use lockstep_fieldgate::{GateList, Gates, relieved};
use lockstep_merge::types::{Type, Types};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::metadata::{Malformed, Scope, StatusField};
use lockstep_object::names::NameRule;
use lockstep_object::{Object, Value, compare_versions};
use lockstep_schema::{CompileError, Part, Schema};
use lockstep_storage::Revision;
use prometheus::Histogram;

use super::columns::columns;
use super::definition::DefinedVersion;
use super::{Converter, Definition, FieldGates, scales};
use crate::cache::BucketKey;
use crate::clock;
use crate::route::Verb;
use crate::views::Columns;
use crate::webhooks::Clients;
use lockstep_catalog::{
    ConversionWebhook, LastWrite, Origin, Present, Resource, ScalePaths, SchemaChange,
    SelectableField, SpecialKind, Strategy, Subresource, Transform, Validate, Validation, Version,
    Versions,
};

const VERBS: &[Verb] = &[
    Verb::Delete,
    Verb::DeleteCollection,
    Verb::Get,
    Verb::List,
    Verb::Patch,
    Verb::Create,
    Verb::Update,
    Verb::Watch,
];

/// The parts that a CRD may ask for.
const PARTS: [Subresource; 2] = [Subresource::Status, Subresource::Scale];

/// Why a CRD cannot be served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CustomError {
    /// A schema does not compile.
    #[error("the schema of version {version} cannot be used: {error}")]
    Schema {
        /// The version.
        version: String,
        /// What is wrong.
        error: CompileError,
    },
    /// No version is the storage version, or one has no schema.
    #[error("it has no storage version, or a version without a schema")]
    Incomplete,
}

/// The resource of a CRD that was left at a revision. Its webhooks are called by these clients, and
/// `ending` tells when it is no longer what clients were told it is.
pub fn resource(
    crd: &Object,
    revision: Revision,
    clients: &Clients,
    schema_change: Arc<SchemaChange>,
    field_gates: FieldGates,
) -> Result<Resource, CustomError> {
    let definition = Definition::of(crd);
    let list = match field_gates {
        FieldGates::On => GateList::of(crd),
        FieldGates::Off => GateList::default(),
    };
    let mut defined: Vec<DefinedVersion<'_>> = definition.versions().collect();
    defined.sort_by(|a, b| compare_versions(a.name(), b.name()));
    let storage = defined.iter().position(|version| version.is_storage());
    let storage = storage.ok_or(CustomError::Incomplete)?;
    let converter = Converter::of(definition, clients)
        .map(|converter| Box::new(converter) as Box<dyn ConversionWebhook>);
    let schemas = defined
        .iter()
        .copied()
        .map(|version| {
            // A webhook may call a field otherwise in another version.
            let is_known = version.is_storage() || converter.is_none();
            compile(version, is_known.then_some(&list), clients)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let texts = |names: Vec<&str>| names.into_iter().map(Into::into).collect();
    let scope = match definition.scope() {
        "Cluster" => Scope::Cluster,
        _ => Scope::Namespaced,
    };
    let versions: Vec<Version> = defined.iter().map(|v| version(definition, *v)).collect();
    let statuses = versions.iter().map(status).collect();
    Ok(Resource {
        group: definition.group().into(),
        plural: definition.names("plural").into(),
        singular: definition.names("singular").into(),
        kind: definition.names("kind").into(),
        list_kind: definition.names("listKind").into(),
        short_names: texts(definition.name_list("shortNames")),
        categories: texts(definition.name_list("categories")),
        scope,
        verbs: VERBS,
        versions: Versions::new(versions, storage),
        bucket: BucketKey::new(format!(
            "{}/{}",
            definition.group(),
            definition.names("plural")
        )),
        origin: Origin::Custom,
        special: SpecialKind::Plain,
        schema_revision: revision,
        is_terminating: definition.is_terminating(),
        strategy: Arc::new(CustomStrategy {
            merged: schemas.iter().map(|_| OnceLock::new()).collect(),
            gates: match field_gates {
                FieldGates::On => Gates::compile(crd),
                FieldGates::Off => None,
            },
            schemas,
            alike: defined
                .iter()
                .map(|version| alike(&defined, *version))
                .collect(),
            converter,
            evaluation_seconds: clients.meters().evaluation_seconds.clone(),
            schema_change,
            columns: defined.iter().copied().map(columns).collect(),
            statuses,
            scales: defined.iter().copied().map(scale).collect(),
            selectable: defined.iter().copied().map(selectable).collect(),
        }),
    })
}

/// The first version with the same schema: objects of one need not be shaped for the other.
fn alike(versions: &[DefinedVersion<'_>], of: DefinedVersion<'_>) -> usize {
    let same = |version: &DefinedVersion<'_>| version.schema() == of.schema();
    versions.iter().position(same).unwrap_or_default()
}

fn compile(
    version: DefinedVersion<'_>,
    gates: Option<&GateList>,
    clients: &Clients,
) -> Result<Compiled, CustomError> {
    let schema = version.schema().ok_or(CustomError::Incomplete)?;
    let began = clock::now().steady;
    let compile = |schema| {
        Schema::compile(schema).map_err(|error| CustomError::Schema {
            version: version.name().to_owned(),
            error,
        })
    };
    let relieved = gates.and_then(|gates| relieved(schema, gates));
    let plain = match &relieved {
        Some(_) => Some(compile(schema)?),
        None => None,
    };
    let compiled = compile(relieved.as_ref().unwrap_or(schema))?;
    if compiled.has_rules() {
        let took = clock::now().steady - began;
        let timer = &clients.meters().compilation_seconds;
        timer.observe(took.as_secs_f64());
    }
    Ok(Compiled {
        schema: compiled,
        plain,
    })
}

/// The schema of a version.
struct Compiled {
    /// What objects are judged by: what gates close is neither required nor filled in.
    schema: Schema,
    /// The schema as it is written, if that is another.
    plain: Option<Schema>,
}

fn version(definition: Definition<'_>, version: DefinedVersion<'_>) -> Version {
    let parts = version.subresources();
    let deprecation = version.is_deprecated().then(|| {
        let (group, kind) = (definition.group(), definition.names("kind"));
        let plain = || format!("{group}/{} {kind} is deprecated", version.name()).into();
        version.deprecation_warning().map_or_else(plain, Into::into)
    });
    Version {
        name: version.name().into(),
        is_served: version.is_served(),
        subresources: PARTS
            .into_iter()
            .filter(|subresource| parts.is_some_and(|parts| parts.contains_key(subresource.name())))
            .collect(),
        deprecation,
    }
}

fn status(version: &Version) -> StatusField {
    if version.subresources.contains(&Subresource::Status) {
        StatusField::Separate
    } else {
        StatusField::Part
    }
}

fn selectable(version: DefinedVersion<'_>) -> Vec<SelectableField> {
    let paths = version.selectable_fields().into_iter();
    let names = paths.map(|path| path.trim_start_matches('.'));
    names.map(SelectableField::at).collect()
}

fn scale(version: DefinedVersion<'_>) -> Option<ScalePaths> {
    let scale = version.subresources()?.get("scale")?;
    let path = |field: &str| scale[field].as_str().map(Into::into);
    Some(ScalePaths {
        spec_replicas: path("specReplicasPath")?,
        status_replicas: path("statusReplicasPath")?,
        label_selector: path("labelSelectorPath"),
    })
}

/// What the schemas say.
struct CustomStrategy {
    schemas: Vec<Compiled>,
    /// The same for merging objects, made when the first one is written: most are never used.
    merged: Vec<OnceLock<Types>>,
    /// The gates of its fields, if they do anything.
    gates: Option<Gates>,
    /// For each version the first that has the same schema.
    alike: Vec<usize>,
    converter: Option<Box<dyn ConversionWebhook>>,
    /// How long rules take, with the schema around them.
    evaluation_seconds: Histogram,
    schema_change: Arc<SchemaChange>,
    columns: Vec<Columns>,
    statuses: Vec<StatusField>,
    scales: Vec<Option<ScalePaths>>,
    selectable: Vec<Vec<SelectableField>>,
}

/// Lets an object be changed as the value that it is.
fn as_value<T>(object: &mut Object, change: impl FnOnce(&mut Value) -> T) -> T {
    let mut value =
        std::mem::replace(object, Object::from_map(serde_json::Map::new())).into_value();
    let changed = change(&mut value);
    if let Ok(shaped) = Object::from_value(value) {
        *object = shaped;
    }
    changed
}

/// Takes away what the schema does not know, also from the metadata of resources inside an object.
fn drop_unknown(schema: &Schema, value: &mut Value, unknown: &mut Vec<String>) {
    // What cannot be kept is dropped, so nothing is wrong.
    let _nothing = schema.coerce_embedded(value, Malformed::Drop, unknown);
    schema.prune(value, unknown);
}

impl Strategy for CustomStrategy {
    fn last_write(&self) -> LastWrite {
        LastWrite::IsRefused
    }

    fn status(&self, version: usize) -> StatusField {
        self.statuses[version]
    }

    fn tracks_generation(&self) -> bool {
        true
    }

    fn schema_change(&self) -> Option<&SchemaChange> {
        Some(&self.schema_change)
    }
}

impl Transform for CustomStrategy {
    fn check_types(
        &self,
        version: usize,
        object: &mut Object,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        let schema = &self.schemas[version].schema;
        let checked = as_value(object, |value| {
            schema.coerce_embedded(value, Malformed::Refuse, unknown)
        });
        checked.map_err(|error| error.to_string())?;
        // Also in what this endpoint does not write: who wrote it is told.
        as_value(object, |value| drop_unknown(schema, value, unknown));
        Ok(())
    }

    fn prune_and_default(
        &self,
        version: usize,
        object: &mut Object,
        _old: Option<&Object>,
    ) -> Vec<String> {
        let schema = &self.schemas[version].schema;
        let mut unknown = Vec::new();
        as_value(object, |value| {
            drop_unknown(schema, value, &mut unknown);
            schema.default(value);
        });
        unknown
    }

    fn fit(&self, version: usize, object: &mut Object) {
        let schema = &self.schemas[version].schema;
        as_value(object, |value| {
            drop_unknown(schema, value, &mut Vec::new());
            schema.drop_nulls(value);
        });
    }

    fn project_to_version(&self, version: usize, object: &mut Object) {
        let schema = &self.schemas[version].schema;
        as_value(object, |value| drop_unknown(schema, value, &mut Vec::new()));
    }

    fn has_same_schema(&self, one: usize, other: usize) -> bool {
        self.alike[one] == self.alike[other]
    }

    fn converter(&self) -> Option<&dyn ConversionWebhook> {
        self.converter.as_deref()
    }

    fn gates(&self) -> Option<&Gates> {
        self.gates.as_ref()
    }

    fn merge_type(&self, version: usize) -> Option<Type<'_>> {
        let types = self.merged[version].get_or_init(|| {
            let Compiled { schema, plain } = &self.schemas[version];
            Types::custom(plain.as_ref().unwrap_or(schema))
        });
        Some(types.object())
    }
}

impl Validate for CustomStrategy {
    fn names(&self) -> NameRule {
        NameRule::Subdomain
    }

    fn validate(
        &self,
        version: usize,
        object: &Object,
        old: Option<&Object>,
        asked: Option<Subresource>,
    ) -> Validation {
        let subresource = match asked {
            Some(Subresource::Status) => Part::Status,
            Some(_) | None => Part::Whole,
        };
        let stored = old.map(Object::as_value);
        let schema = &self.schemas[version].schema;
        let began = clock::now().steady;
        let outcome = schema.validate(object.as_value(), stored, subresource);
        if schema.has_rules() {
            let took = clock::now().steady - began;
            self.evaluation_seconds.observe(took.as_secs_f64());
        }
        let mut errors = outcome.errors;
        if let Some(scale) = &self.scales[version] {
            // That rules did not run is said last.
            let is_note = |error: &FieldError| error.field == Path::ROOT.to_string();
            let note = errors.last().is_some_and(is_note).then(|| errors.pop());
            errors.extend(scales::problems(scale, object, asked));
            errors.extend(note.flatten());
        }
        Validation {
            errors,
            // What is forgiven is not told.
            warnings: Vec::new(),
        }
    }
}

impl Present for CustomStrategy {
    fn selectable_fields(&self, version: usize) -> &[SelectableField] {
        &self.selectable[version]
    }

    fn scale(&self, version: usize) -> Option<&ScalePaths> {
        self.scales[version].as_ref()
    }

    fn columns(&self, version: usize) -> &Columns {
        &self.columns[version]
    }
}
