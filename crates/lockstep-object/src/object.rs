//! A dynamic object: a JSON map with the accessors that every kind shares.

use crate::json;
use crate::kinds::{GroupVersion, GroupVersionKind};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// A JSON map that represents an API object.
///
/// Accessors never fail: absent fields and fields of another type read as empty. Types are checked once on input, by
/// [`metadata::normalize_metadata`](crate::metadata::normalize_metadata) or a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Object {
    value: Value,
}

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);

impl Object {
    /// Takes a value that is a map; gives back anything else.
    pub fn from_value(value: Value) -> Result<Self, Value> {
        match value {
            Value::Object(_) => Ok(Self { value }),
            other => Err(other),
        }
    }

    /// Reads a document that was accepted before, such as a stored object; none if it is no map.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        Self::from_value(json::read(bytes)?).ok()
    }

    /// Takes a map.
    pub fn from_map(entries: Map<String, Value>) -> Self {
        Self {
            value: Value::Object(entries),
        }
    }

    /// The whole object, for expressions and printers.
    pub fn as_value(&self) -> &Value {
        &self.value
    }

    /// Gives the value away.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// The fields.
    pub fn fields(&self) -> &Map<String, Value> {
        self.value.as_object().expect("an object is made of a map")
    }

    /// The fields, to change.
    pub fn fields_mut(&mut self) -> &mut Map<String, Value> {
        self.value
            .as_object_mut()
            .expect("an object is made of a map")
    }

    /// The value at a path of field names.
    pub fn at(&self, path: &[&str]) -> Option<&Value> {
        path.iter()
            .try_fold(&self.value, |value, name| value.get(name))
    }

    fn text(&self, path: &[&str]) -> &str {
        self.at(path).and_then(Value::as_str).unwrap_or_default()
    }

    /// `apiVersion`
    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    /// `kind`
    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    /// Group, version and kind; none if `apiVersion` does not parse.
    pub fn gvk(&self) -> Option<GroupVersionKind> {
        let group_version = GroupVersion::parse(self.api_version()).ok()?;
        Some(group_version.with_kind(self.kind()))
    }

    /// Writes `apiVersion` and `kind`.
    pub fn set_gvk(&mut self, gvk: &GroupVersionKind) {
        let api_version = Value::from(gvk.group_version().to_string());
        self.fields_mut()
            .insert("apiVersion".to_owned(), api_version);
        self.fields_mut()
            .insert("kind".to_owned(), Value::from(&*gvk.kind));
    }

    /// `metadata`, empty when there is none.
    pub fn metadata(&self) -> &Map<String, Value> {
        let metadata = self.fields().get("metadata");
        metadata.and_then(Value::as_object).unwrap_or(&EMPTY)
    }

    /// `metadata`, made when there is none.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        let metadata = self.fields_mut().entry("metadata").or_insert(Value::Null);
        if !metadata.is_object() {
            *metadata = Value::Object(Map::new());
        }
        metadata.as_object_mut().expect("it was just made a map")
    }

    fn meta_text(&self, field: &str) -> &str {
        self.metadata()
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Writes a text of the metadata; the empty text removes it.
    pub fn set_meta_text(&mut self, field: &str, text: &str) {
        match text {
            "" => self.metadata_mut().remove(field),
            text => self
                .metadata_mut()
                .insert(field.to_owned(), Value::from(text)),
        };
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        self.meta_text("name")
    }

    /// `metadata.generateName`
    pub fn generate_name(&self) -> &str {
        self.meta_text("generateName")
    }

    /// `metadata.namespace`
    pub fn namespace(&self) -> &str {
        self.meta_text("namespace")
    }

    /// `metadata.uid`
    pub fn uid(&self) -> &str {
        self.meta_text("uid")
    }

    /// `metadata.resourceVersion`
    pub fn resource_version(&self) -> &str {
        self.meta_text("resourceVersion")
    }

    /// `metadata.creationTimestamp`
    pub fn creation_timestamp(&self) -> &str {
        self.meta_text("creationTimestamp")
    }

    /// `metadata.deletionTimestamp`, once deletion was requested.
    pub fn deletion_timestamp(&self) -> Option<&str> {
        self.metadata()
            .get("deletionTimestamp")
            .and_then(Value::as_str)
    }

    /// `metadata.generation`
    pub fn generation(&self) -> i64 {
        self.metadata()
            .get("generation")
            .and_then(Value::as_i64)
            .unwrap_or_default()
    }

    /// Writes `metadata.generation`; 0 removes it.
    pub fn set_generation(&mut self, generation: i64) {
        match generation {
            0 => self.metadata_mut().remove("generation"),
            generation => self
                .metadata_mut()
                .insert("generation".to_owned(), Value::from(generation)),
        };
    }

    /// `metadata.labels`
    pub fn labels(&self) -> &Map<String, Value> {
        self.texts("labels")
    }

    /// A label's value.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().get(key).and_then(Value::as_str)
    }

    /// `metadata.annotations`
    pub fn annotations(&self) -> &Map<String, Value> {
        self.texts("annotations")
    }

    /// An annotation's value.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations().get(key).and_then(Value::as_str)
    }

    fn texts(&self, field: &str) -> &Map<String, Value> {
        self.metadata()
            .get(field)
            .and_then(Value::as_object)
            .unwrap_or(&EMPTY)
    }

    /// `metadata.finalizers`
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        self.list("finalizers").iter().filter_map(Value::as_str)
    }

    /// Writes `metadata.finalizers`; none removes the field.
    pub fn set_finalizers(&mut self, finalizers: Vec<String>) {
        if finalizers.is_empty() {
            self.metadata_mut().remove("finalizers");
        } else {
            self.metadata_mut()
                .insert("finalizers".to_owned(), Value::from(finalizers));
        }
    }

    /// `metadata.ownerReferences`
    pub fn owner_references(&self) -> &[Value] {
        self.list("ownerReferences")
    }

    /// `metadata.managedFields`
    pub fn managed_fields(&self) -> &[Value] {
        self.list("managedFields")
    }

    fn list(&self, field: &str) -> &[Value] {
        let list = self.metadata().get(field).and_then(Value::as_array);
        list.map_or(&[], Vec::as_slice)
    }
}
