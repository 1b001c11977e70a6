//! Strategies: kind-specific behaviour of reads and writes. Everything else is the same for all kinds.

use lockstep_builtins::parts::ResetFields;
use lockstep_fieldgate::Gates;
use lockstep_merge::types::Type;
use lockstep_object::field::FieldErrors;
use lockstep_object::metadata::StatusField;
use lockstep_object::names::NameRule;
use lockstep_object::{Object, Value};

use crate::{Columns, ConversionWebhook, SchemaChange, Subresource, VersionIndex};

/// Kind-specific behaviour of create, update and delete.
pub trait Strategy: Transform + Validate + Present {
    /// Whether `status` is written through its own endpoint in this version.
    fn status(&self, version: VersionIndex) -> StatusField;

    /// True if `metadata.generation` counts changes of the spec.
    fn tracks_generation(&self) -> bool;

    /// Metadata fields whose changes also increase `metadata.generation`.
    fn generation_metadata(&self) -> &'static [&'static str] {
        &[]
    }

    /// Fields that writes through an endpoint reset to the stored value.
    fn reset_fields(&self) -> &ResetFields {
        &ResetFields::USUAL
    }

    /// Restores fields that a status update omitted unintentionally. `now` is the time of the update.
    fn preserve_status(&self, _object: &mut Object, _old: &Object, _now: &str) {}

    /// True if objects expire when they have not been written for the event TTL.
    fn expires(&self) -> bool {
        false
    }

    /// True if a `DELETE` returns the deleted object instead of a `Status`.
    fn returns_deleted_object(&self) -> bool {
        false
    }

    /// True if dependents are orphaned when the delete options name no propagation policy, as upstream's older APIs.
    fn orphans_dependents(&self) -> bool {
        false
    }

    /// True if a `PUT` of an object that does not exist creates it.
    fn allows_create_on_update(&self) -> bool {
        false
    }

    /// Treatment of a `PUT` without a resource version.
    fn last_write(&self) -> LastWrite {
        LastWrite::Wins
    }

    /// Notification of a changed schema, which ends watches; none if the schema never changes.
    fn schema_change(&self) -> Option<&SchemaChange> {
        None
    }
}

/// Transformations of an object between a request, its versions and the store.
pub trait Transform: Send + Sync {
    /// The kind that objects are stored as, if it differs from the served kind. [`Transform::prune_and_default`]
    /// restores the served kind.
    fn stored_as(&self) -> Option<&StoredAs> {
        None
    }

    /// Rejects fields of the wrong type, and removes unknown fields, adding their names to `unknown`. For custom
    /// resources this covers the metadata of embedded resources.
    fn check_types(
        &self,
        _version: VersionIndex,
        _object: &mut Object,
        _unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        Ok(())
    }

    /// Removes fields the schema does not know, then applies defaults. Returns the paths of the removed fields.
    /// `old` is the stored object, if there is one.
    fn prune_and_default(
        &self,
        version: VersionIndex,
        object: &mut Object,
        old: Option<&Object>,
    ) -> Vec<String>;

    /// Removes fields that a version does not know from an object that was converted to it. Applies no defaults:
    /// those belong to the version that was written or is stored.
    fn fit(&self, version: VersionIndex, object: &mut Object) {
        self.prune_and_default(version, object, None);
    }

    /// Converts an object to another version without defaults, so that managed fields of both can be compared. A
    /// defaulted field has no manager, so it must not appear in the comparison.
    fn project_to_version(&self, _version: VersionIndex, _object: &mut Object) {}

    /// True if an object of one version is valid in the other without pruning or defaulting.
    fn has_same_schema(&self, _one: VersionIndex, _other: VersionIndex) -> bool {
        true
    }

    /// The conversion webhook; none if versions differ only in `apiVersion` and schema.
    fn converter(&self) -> Option<&dyn ConversionWebhook> {
        None
    }

    /// The field gates; none if they have no effect.
    fn gates(&self) -> Option<&Gates> {
        None
    }

    /// The type that server-side apply merges by; none if it is unknown.
    fn merge_type(&self, _version: VersionIndex) -> Option<Type<'_>> {
        None
    }

    /// Fields that the server sets on create. They have no manager, unless the request set them.
    fn server_fields(&self) -> &'static [&'static [&'static str]] {
        &[]
    }
}

/// Validation of an object.
pub trait Validate: Send + Sync {
    /// The rule for `metadata.name`.
    fn names(&self) -> NameRule {
        NameRule::Subdomain
    }

    /// Validates everything except metadata. `subresource` is the endpoint that the request writes.
    fn validate(
        &self,
        version: VersionIndex,
        object: &Object,
        old: Option<&Object>,
        subresource: Option<Subresource>,
    ) -> Validation;
}

/// Presentation of objects to clients.
pub trait Present: Send + Sync {
    /// Fields that field selectors support in this version, in addition to name and namespace.
    fn selectable_fields(&self, _version: VersionIndex) -> &[SelectableField] {
        &[]
    }

    /// Paths of the fields that `scale` shows; none if this version has no `scale`.
    fn scale(&self, _version: VersionIndex) -> Option<&ScalePaths> {
        None
    }

    /// The `OpenAPI` schema of objects that only the server writes, as a CRD would spell it.
    fn schema(&self) -> Option<&Value> {
        None
    }

    /// Table columns of this version.
    fn columns(&self, _version: VersionIndex) -> &Columns {
        Columns::name_and_age()
    }
}

/// A stored kind that is served as several kinds.
#[derive(Clone, Copy, Debug)]
pub struct StoredAs {
    /// The group of the stored kind.
    pub group: &'static str,
    /// The version of the stored kind.
    pub version: &'static str,
    /// Converts an object to the stored kind, except for its `apiVersion`.
    pub write: fn(&mut Object),
}

impl StoredAs {
    /// The `apiVersion` of stored objects.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }
}

/// Treatment of an update without a resource version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LastWrite {
    /// The update replaces the current object, whatever its resource version is.
    Wins,
    /// The update is invalid.
    IsRefused,
}

/// A field that field selectors support.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SelectableField {
    /// The name in selectors.
    pub name: Box<str>,
    /// Candidate paths in the object, dot-separated; the first one with a value is used.
    pub paths: Vec<Box<str>>,
    /// The value of objects without the field.
    pub absent: &'static str,
}

impl SelectableField {
    /// A field whose name in selectors is its path.
    pub fn at(path: &str) -> Self {
        Self {
            name: path.into(),
            paths: vec![path.into()],
            absent: "",
        }
    }

    /// Sets the value of objects without the field.
    #[must_use]
    pub fn or(self, absent: &'static str) -> Self {
        Self { absent, ..self }
    }
}

/// JSON paths of the fields that the `scale` subresource reads and writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScalePaths {
    /// The desired number of replicas, such as `.spec.replicas`.
    pub spec_replicas: Box<str>,
    /// The observed number of replicas.
    pub status_replicas: Box<str>,
    /// The label selector of the replicas: a string, a selector or a map of labels.
    pub label_selector: Option<Box<str>>,
}

/// The result of validation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Validation {
    /// Errors; the object is invalid if there is one.
    pub errors: FieldErrors,
    /// Warnings for the client.
    pub warnings: Vec<String>,
}

impl From<FieldErrors> for Validation {
    fn from(errors: FieldErrors) -> Self {
        Self {
            errors,
            warnings: Vec::new(),
        }
    }
}
