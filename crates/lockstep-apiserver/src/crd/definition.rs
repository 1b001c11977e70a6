//! A CRD, read.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::{Map, Object, Value};

use crate::resources::CRD_CLEANUP_FINALIZER;
use crate::webhooks::check_bundle;

/// The fields of a CRD. What is absent or of another type reads as empty.
#[derive(Clone, Copy)]
pub struct Definition<'a> {
    object: &'a Object,
}

/// One of its versions.
#[derive(Clone, Copy)]
pub struct DefinedVersion<'a> {
    value: &'a Value,
}

impl<'a> Definition<'a> {
    /// Reads a CRD.
    pub fn of(object: &'a Object) -> Self {
        Self { object }
    }

    /// Its name.
    pub fn name(self) -> &'a str {
        self.object.name()
    }

    fn text(self, path: &[&str]) -> &'a str {
        self.object
            .at(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The group of the resource.
    pub fn group(self) -> &'a str {
        self.text(&["spec", "group"])
    }

    /// `Namespaced` or `Cluster`.
    pub fn scope(self) -> &'a str {
        self.text(&["spec", "scope"])
    }

    /// A name that was asked for: `plural`, `singular`, `kind` or `listKind`.
    pub fn names(self, which: &str) -> &'a str {
        self.text(&["spec", "names", which])
    }

    /// Several names: `shortNames` or `categories`.
    pub fn name_list(self, which: &str) -> Vec<&'a str> {
        let list = self.object.at(&["spec", "names", which]);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).collect()
    }

    /// The names that the server gave it.
    pub fn accepted(self, which: &str) -> &'a str {
        self.text(&["status", "acceptedNames", which])
    }

    /// Its versions as they stand there.
    pub fn versions(self) -> impl Iterator<Item = DefinedVersion<'a>> + use<'a> {
        let list = self.object.at(&["spec", "versions"]);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.map(|value| DefinedVersion { value })
    }

    /// The versions that objects may be stored in.
    pub fn stored_versions(self) -> Vec<&'a str> {
        let list = self.object.at(&["status", "storedVersions"]);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).collect()
    }

    /// Whether a condition is true.
    pub fn is(self, condition: &str) -> bool {
        let list = self.object.at(&["status", "conditions"]);
        let mut items = list.and_then(Value::as_array).into_iter().flatten();
        items.any(|item| item["type"] == condition && item["status"] == "True")
    }

    /// The webhook that converts its objects, if one does.
    pub fn conversion_webhook(self) -> Option<&'a Value> {
        let conversion = self.object.at(&["spec", "conversion"])?;
        let is_asked = conversion["strategy"] == "Webhook";
        is_asked.then(|| &conversion["webhook"])
    }

    /// The certificates of that webhook, as they are written; none if there are none.
    pub fn bundle(self) -> Option<&'a str> {
        let bundle = &self.conversion_webhook()?["clientConfig"]["caBundle"];
        bundle.as_str().filter(|bundle| !bundle.is_empty())
    }

    /// Why those certificates cannot be used; none if they can, or there are none.
    pub fn bundle_problem(self) -> Option<String> {
        let bundle = STANDARD.decode(self.bundle()?.trim()).unwrap_or_default();
        check_bundle(&bundle).err()
    }

    /// Whether its deletion was requested.
    pub fn is_terminating(self) -> bool {
        self.object.deletion_timestamp().is_some()
    }

    /// Whether it goes and waits for its objects to go first.
    pub(crate) fn is_cleaned(self) -> bool {
        self.is_terminating()
            && self
                .object
                .finalizers()
                .any(|held| held == CRD_CLEANUP_FINALIZER)
    }
}

impl<'a> DefinedVersion<'a> {
    /// Its name.
    pub fn name(self) -> &'a str {
        self.value["name"].as_str().unwrap_or_default()
    }

    /// Whether it is served.
    pub fn is_served(self) -> bool {
        self.value["served"] == true
    }

    /// Whether objects are stored in it.
    pub fn is_storage(self) -> bool {
        self.value["storage"] == true
    }

    /// Its schema.
    pub fn schema(self) -> Option<&'a Value> {
        let schema = &self.value["schema"]["openAPIV3Schema"];
        schema.is_object().then_some(schema)
    }

    /// Its subresources by name.
    pub fn subresources(self) -> Option<&'a Map<String, Value>> {
        self.value["subresources"].as_object()
    }

    /// Whether users are warned of it.
    pub fn is_deprecated(self) -> bool {
        self.value["deprecated"] == true
    }

    /// What they are warned with, if the CRD says so.
    pub fn deprecation_warning(self) -> Option<&'a str> {
        self.value["deprecationWarning"].as_str()
    }

    /// The paths of its selectable fields.
    pub fn selectable_fields(self) -> Vec<&'a str> {
        let list = self.value["selectableFields"]
            .as_array()
            .into_iter()
            .flatten();
        list.filter_map(|field| field["jsonPath"].as_str())
            .collect()
    }

    /// The columns that it asks for.
    pub fn printer_columns(self) -> &'a [Value] {
        let list = self.value["additionalPrinterColumns"].as_array();
        list.map(Vec::as_slice).unwrap_or_default()
    }

    /// The version as it stands there.
    pub fn value(self) -> &'a Value {
        self.value
    }
}
