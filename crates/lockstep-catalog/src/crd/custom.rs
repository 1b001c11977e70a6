//! Compilation of a CRD to a resource, and the strategy of custom resources.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lockstep_fieldgate::{GateList, Gates, relax_closed_fields};
use lockstep_merge::types::{Type, Types};
use lockstep_mvcc::Revision;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::metadata::{Malformed, Scope, StatusField};
use lockstep_object::names::NameRule;
use lockstep_object::{Object, Value, compare_versions};
use lockstep_schema::{CompileError, Part, Schema};

use super::columns::columns;
use super::{DefinedVersion, Definition, FieldGates, scales};
use crate::{
    BucketKey, Columns, ConversionWebhook, LastWrite, Origin, Present, Resource, ScalePaths,
    SchemaChange, SelectableField, SpecialKind, Strategy, Subresource, Transform, Validate,
    Validation, Verb, Version, VersionIndex, Versions,
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

/// Subresources that a CRD can enable.
const SUBRESOURCES: [Subresource; 2] = [Subresource::Status, Subresource::Scale];

/// The reason why a CRD cannot be served.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CustomError {
    /// A schema does not compile.
    #[error("the schema of version {version} cannot be used: {error}")]
    Schema {
        /// The version.
        version: String,
        /// The error of the schema compiler.
        error: CompileError,
    },
    /// No version is the storage version, or one has no schema.
    #[error("it has no storage version, or a version without a schema")]
    Incomplete,
}

/// Measures the CEL work of custom resources. Implemented by the API server, which owns the clock and the metrics.
pub trait CelTimer: Send + Sync {
    /// The monotonic time since an arbitrary start.
    fn now(&self) -> Duration;

    /// Records the compilation of a schema with rules.
    fn compiled(&self, took: Duration);

    /// Records the validation of an object by a schema with rules.
    fn evaluated(&self, took: Duration);
}

/// A timer without a clock: measures nothing.
pub struct Untimed;

impl CelTimer for Untimed {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn compiled(&self, _took: Duration) {}

    fn evaluated(&self, _took: Duration) {}
}

/// The environment that a CRD is compiled for.
pub struct Compilation {
    /// The conversion webhook of the CRD, if it has one.
    pub converter: Option<Box<dyn ConversionWebhook>>,
    /// Measures CEL work.
    pub timer: Arc<dyn CelTimer>,
    /// Ends watches when the spec of the CRD changes.
    pub schema_change: Arc<SchemaChange>,
    /// Whether field gates have an effect.
    pub field_gates: FieldGates,
}

/// Compiles a CRD that was last written at `revision`.
pub fn resource(
    crd: &Object,
    revision: Revision,
    compilation: Compilation,
) -> Result<Resource, CustomError> {
    let Compilation {
        converter,
        timer,
        schema_change,
        field_gates,
    } = compilation;
    let definition = Definition::of(crd);
    let list = match field_gates {
        FieldGates::On => GateList::of(crd),
        FieldGates::Off => GateList::default(),
    };
    let mut defined: Vec<DefinedVersion<'_>> = definition.versions().collect();
    defined.sort_by(|a, b| compare_versions(a.name(), b.name()));
    let storage = defined.iter().position(|version| version.is_storage());
    let storage = storage.ok_or(CustomError::Incomplete)?;
    let schemas = defined
        .iter()
        .copied()
        .map(|version| {
            // A conversion webhook may rename fields, so the paths of gates are valid in the storage version only.
            let is_known = version.is_storage() || converter.is_none();
            compile(version, is_known.then_some(&list), &*timer)
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
            timer,
            schema_change,
            columns: defined.iter().copied().map(columns).collect(),
            statuses,
            scales: defined.iter().copied().map(scale).collect(),
            selectable: defined.iter().copied().map(selectable).collect(),
        }),
    })
}

/// The first version with the same schema. Objects of one version need no pruning or defaulting for the other.
fn alike(versions: &[DefinedVersion<'_>], of: DefinedVersion<'_>) -> usize {
    let same = |version: &DefinedVersion<'_>| version.schema() == of.schema();
    versions.iter().position(same).unwrap_or_default()
}

fn compile(
    version: DefinedVersion<'_>,
    gates: Option<&GateList>,
    timer: &dyn CelTimer,
) -> Result<Compiled, CustomError> {
    let schema = version.schema().ok_or(CustomError::Incomplete)?;
    let began = timer.now();
    let compile = |schema| {
        Schema::compile(schema).map_err(|error| CustomError::Schema {
            version: version.name().to_owned(),
            error,
        })
    };
    let relaxed = gates.and_then(|gates| relax_closed_fields(schema, gates));
    let plain = match &relaxed {
        Some(_) => Some(compile(schema)?),
        None => None,
    };
    let compiled = compile(relaxed.as_ref().unwrap_or(schema))?;
    if compiled.has_rules() {
        timer.compiled(timer.now().saturating_sub(began));
    }
    Ok(Compiled {
        schema: compiled,
        plain,
    })
}

/// The compiled schema of a version.
struct Compiled {
    /// The schema that validates objects: fields with a closed gate are neither required nor defaulted.
    schema: Schema,
    /// The schema of the CRD, if it differs.
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
        subresources: SUBRESOURCES
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

/// The strategy of a custom resource. Vectors are indexed by the position of a version.
struct CustomStrategy {
    schemas: Vec<Compiled>,
    /// Merge types, built on the first apply because most versions are never written.
    merged: Vec<OnceLock<Types>>,
    /// The field gates; none if they have no effect.
    gates: Option<Gates>,
    /// The first version with the same schema.
    alike: Vec<usize>,
    converter: Option<Box<dyn ConversionWebhook>>,
    timer: Arc<dyn CelTimer>,
    schema_change: Arc<SchemaChange>,
    columns: Vec<Columns>,
    statuses: Vec<StatusField>,
    scales: Vec<Option<ScalePaths>>,
    selectable: Vec<Vec<SelectableField>>,
}

/// Applies a change to the JSON value of an object.
fn as_value<T>(object: &mut Object, change: impl FnOnce(&mut Value) -> T) -> T {
    let mut value =
        std::mem::replace(object, Object::from_map(serde_json::Map::new())).into_value();
    let changed = change(&mut value);
    if let Ok(changed) = Object::from_value(value) {
        *object = changed;
    }
    changed
}

/// Removes fields the schema does not know, including unknown metadata of embedded resources.
fn drop_unknown(schema: &Schema, value: &mut Value, unknown: &mut Vec<String>) {
    // `Malformed::Drop` removes malformed metadata, so there is no error.
    let _never = schema.coerce_embedded(value, Malformed::Drop, unknown);
    schema.prune(value, unknown);
}

impl Strategy for CustomStrategy {
    fn last_write(&self) -> LastWrite {
        LastWrite::IsRefused
    }

    fn status(&self, version: VersionIndex) -> StatusField {
        self.statuses[version.position()]
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
        version: VersionIndex,
        object: &mut Object,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        let schema = &self.schemas[version.position()].schema;
        let checked = as_value(object, |value| {
            schema.coerce_embedded(value, Malformed::Refuse, unknown)
        });
        checked.map_err(|error| error.to_string())?;
        // Includes fields that this endpoint ignores, because strict validation reports those too.
        as_value(object, |value| drop_unknown(schema, value, unknown));
        Ok(())
    }

    fn prune_and_default(
        &self,
        version: VersionIndex,
        object: &mut Object,
        _old: Option<&Object>,
    ) -> Vec<String> {
        let schema = &self.schemas[version.position()].schema;
        let mut unknown = Vec::new();
        as_value(object, |value| {
            drop_unknown(schema, value, &mut unknown);
            schema.default(value);
        });
        unknown
    }

    fn fit(&self, version: VersionIndex, object: &mut Object) {
        let schema = &self.schemas[version.position()].schema;
        as_value(object, |value| {
            drop_unknown(schema, value, &mut Vec::new());
            schema.drop_nulls(value);
        });
    }

    fn project_to_version(&self, version: VersionIndex, object: &mut Object) {
        let schema = &self.schemas[version.position()].schema;
        as_value(object, |value| drop_unknown(schema, value, &mut Vec::new()));
    }

    fn has_same_schema(&self, one: VersionIndex, other: VersionIndex) -> bool {
        self.alike[one.position()] == self.alike[other.position()]
    }

    fn converter(&self) -> Option<&dyn ConversionWebhook> {
        self.converter.as_deref()
    }

    fn gates(&self) -> Option<&Gates> {
        self.gates.as_ref()
    }

    fn merge_type(&self, version: VersionIndex) -> Option<Type<'_>> {
        let types = self.merged[version.position()].get_or_init(|| {
            let Compiled { schema, plain } = &self.schemas[version.position()];
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
        version: VersionIndex,
        object: &Object,
        old: Option<&Object>,
        subresource: Option<Subresource>,
    ) -> Validation {
        let part = match subresource {
            Some(Subresource::Status) => Part::Status,
            Some(_) | None => Part::Whole,
        };
        let stored = old.map(Object::as_value);
        let schema = &self.schemas[version.position()].schema;
        let began = schema.has_rules().then(|| self.timer.now());
        let mut errors = schema.validate(object.as_value(), stored, part).errors;
        if let Some(began) = began {
            self.timer.evaluated(self.timer.now().saturating_sub(began));
        }
        if let Some(scale) = &self.scales[version.position()] {
            // Upstream reports skipped rules last.
            let is_note = |error: &FieldError| error.field == Path::ROOT.to_string();
            let note = errors.pop_if(is_note);
            errors.extend(scales::problems(scale, object, subresource));
            errors.extend(note);
        }
        Validation {
            errors,
            // Ratcheted errors are not reported as warnings, as upstream.
            warnings: Vec::new(),
        }
    }
}

impl Present for CustomStrategy {
    fn selectable_fields(&self, version: VersionIndex) -> &[SelectableField] {
        &self.selectable[version.position()]
    }

    fn scale(&self, version: VersionIndex) -> Option<&ScalePaths> {
        self.scales[version.position()].as_ref()
    }

    fn columns(&self, version: VersionIndex) -> &Columns {
        &self.columns[version.position()]
    }
}
