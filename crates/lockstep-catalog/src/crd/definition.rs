//! Access to the fields of a CRD.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::{Map, Object, Value};

use super::{CLEANUP_FINALIZER, check_bundle};

/// A view of a CRD. Fields that are absent or have the wrong type read as empty.
#[derive(Clone, Copy)]
pub struct Definition<'a> {
    object: &'a Object,
}

/// A view of one entry of `spec.versions`.
#[derive(Clone, Copy)]
pub struct DefinedVersion<'a> {
    value: &'a Value,
}

impl<'a> Definition<'a> {
    /// A view of this object.
    pub fn of(object: &'a Object) -> Self {
        Self { object }
    }

    /// The name of the CRD.
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

    /// A field of `spec.names`: `plural`, `singular`, `kind` or `listKind`.
    pub fn names(self, which: &str) -> &'a str {
        self.text(&["spec", "names", which])
    }

    /// A list of `spec.names`: `shortNames` or `categories`.
    pub fn name_list(self, which: &str) -> Vec<&'a str> {
        let list = self.object.at(&["spec", "names", which]);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).collect()
    }

    /// A field of `status.acceptedNames`.
    pub fn accepted(self, which: &str) -> &'a str {
        self.text(&["status", "acceptedNames", which])
    }

    /// The entries of `spec.versions`, in their order.
    pub fn versions(self) -> impl Iterator<Item = DefinedVersion<'a>> + use<'a> {
        let list = self.object.at(&["spec", "versions"]);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.map(|value| DefinedVersion { value })
    }

    /// The entries of `status.storedVersions`.
    pub fn stored_versions(self) -> Vec<&'a str> {
        let list = self.object.at(&["status", "storedVersions"]);
        let items = list.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(Value::as_str).collect()
    }

    /// True if the condition has the status `True`.
    pub fn is(self, condition: &str) -> bool {
        let list = self.object.at(&["status", "conditions"]);
        let mut items = list.and_then(Value::as_array).into_iter().flatten();
        items.any(|item| item["type"] == condition && item["status"] == "True")
    }

    /// `spec.conversion.webhook`, if the conversion strategy is `Webhook`.
    pub fn conversion_webhook(self) -> Option<&'a Value> {
        let conversion = self.object.at(&["spec", "conversion"])?;
        let is_webhook = conversion["strategy"] == "Webhook";
        is_webhook.then(|| &conversion["webhook"])
    }

    /// The base64 text of the webhook's `caBundle`; none if it is empty.
    pub fn bundle(self) -> Option<&'a str> {
        let bundle = &self.conversion_webhook()?["clientConfig"]["caBundle"];
        bundle.as_str().filter(|bundle| !bundle.is_empty())
    }

    /// The reason why the `caBundle` is unusable; none if it is usable or empty.
    pub fn bundle_problem(self) -> Option<String> {
        let bundle = STANDARD.decode(self.bundle()?.trim()).unwrap_or_default();
        check_bundle(&bundle).err()
    }

    /// True if the CRD has a deletion timestamp.
    pub fn is_terminating(self) -> bool {
        self.object.deletion_timestamp().is_some()
    }

    /// True if the CRD is terminating and its objects are being deleted.
    pub fn is_cleaned(self) -> bool {
        self.is_terminating()
            && self
                .object
                .finalizers()
                .any(|held| held == CLEANUP_FINALIZER)
    }
}

impl<'a> DefinedVersion<'a> {
    /// The name.
    pub fn name(self) -> &'a str {
        self.value["name"].as_str().unwrap_or_default()
    }

    /// True if requests for this version are answered.
    pub fn is_served(self) -> bool {
        self.value["served"] == true
    }

    /// True if this is the storage version.
    pub fn is_storage(self) -> bool {
        lockstep_schema::is_storage_version(self.value)
    }

    /// The `openAPIV3Schema`.
    pub fn schema(self) -> Option<&'a Value> {
        let schema = &self.value["schema"]["openAPIV3Schema"];
        schema.is_object().then_some(schema)
    }

    /// The subresources by name.
    pub fn subresources(self) -> Option<&'a Map<String, Value>> {
        self.value["subresources"].as_object()
    }

    /// True if the version is deprecated.
    pub fn is_deprecated(self) -> bool {
        self.value["deprecated"] == true
    }

    /// The deprecation warning, if the CRD has one.
    pub fn deprecation_warning(self) -> Option<&'a str> {
        self.value["deprecationWarning"].as_str()
    }

    /// The JSON paths of the selectable fields.
    pub fn selectable_fields(self) -> Vec<&'a str> {
        let list = self.value["selectableFields"]
            .as_array()
            .into_iter()
            .flatten();
        list.filter_map(|field| field["jsonPath"].as_str())
            .collect()
    }

    /// The `additionalPrinterColumns`.
    pub fn printer_columns(self) -> &'a [Value] {
        let list = self.value["additionalPrinterColumns"].as_array();
        list.map(Vec::as_slice).unwrap_or_default()
    }

    /// The entry of `spec.versions` itself.
    pub fn value(self) -> &'a Value {
        self.value
    }
}
