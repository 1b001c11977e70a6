//! Definitions of custom resources: the rules of their `spec`, beyond the schemas in it.

mod columns;
mod conversion;
mod names;
mod selectable;
mod subresources;

use crate::check::{CheckOptions, StatusSubresource, check};
use crate::keywords::{flag, given, list, schema as subschema, text, texts};
use lockstep_cel::Version;
use lockstep_cel::ext::go_url::parse_request_uri;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names as name_rules;
use lockstep_object::{Object, go};
use serde_json::{Map, Value, json};

pub use names::{NameConflict, conflict};

/// The annotation that groups of the community need.
const APPROVAL: &str = "api-approved.kubernetes.io";
/// Longest deprecation warning.
const DEPRECATION_WARNING_BYTES_MAX: usize = 256;

/// Fills in what a definition leaves out: `singular`, `listKind`, the conversion strategy, ports of services, and the
/// first stored version.
pub fn default_definition(definition: &mut Object) {
    let storage = storage_version(definition).map(str::to_owned);
    let fields = definition.fields_mut();
    if let Some(Value::Object(spec)) = fields.get_mut("spec") {
        default_spec(spec);
    }
    let status = fields.entry("status").or_insert_with(|| json!({}));
    if let (Some(storage), Some(status)) = (storage, status.as_object_mut()) {
        let stored = status.get("storedVersions").and_then(Value::as_array);
        if stored.is_none_or(Vec::is_empty) {
            status.insert("storedVersions".to_owned(), json!([storage]));
        }
    }
}

fn default_spec(spec: &mut Map<String, Value>) {
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        for (field, default) in [
            ("singular", kind.to_lowercase()),
            ("listKind", format!("{kind}List")),
        ] {
            let given = names.get(field).and_then(Value::as_str).unwrap_or_default();
            if given.is_empty() && !kind.is_empty() {
                names.insert(field.to_owned(), Value::from(default));
            }
        }
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    let service = conversion
        .pointer_mut("/webhook/clientConfig/service")
        .and_then(Value::as_object_mut);
    if let Some(service) = service {
        service.entry("port").or_insert(Value::from(443));
    }
}

/// The version objects are stored in.
pub fn storage_version(definition: &Object) -> Option<&str> {
    let spec = definition.at(&["spec"])?;
    list(spec, "versions")
        .iter()
        .find(|version| flag(version, "storage"))
        .map(|version| text(version, "name"))
}

/// What is wrong with a definition that was [defaulted](default_definition), apart from its metadata. With the stored
/// one it replaces, what cannot change any more is compared.
pub fn check_definition(
    definition: &Object,
    stored: Option<&Object>,
    version: Version,
) -> FieldErrors {
    let nothing = Value::Null;
    let spec = definition.at(&["spec"]).unwrap_or(&nothing);
    let mut checker = Checker {
        spec,
        stored: stored.and_then(|stored| stored.at(&["spec"])),
        version,
        errors: FieldErrors::new(),
    };
    checker.object_name(definition.name());
    checker.check();
    if let Some(stored) = stored {
        checker.immutable(is_established(stored));
    }
    checker.stored_versions(definition);
    checker.approval(definition, stored);
    checker.preserve_unknown();
    checker.errors
}

/// Warnings for the author: formats that are not judged.
pub fn definition_warnings(definition: &Object, version: Version) -> Vec<String> {
    let nothing = Value::Null;
    let mut warnings: Vec<String> = Vec::new();
    for served in list(definition.at(&["spec"]).unwrap_or(&nothing), "versions") {
        let Some(schema) = served.pointer("/schema/openAPIV3Schema") else {
            continue;
        };
        for warning in crate::check::unrecognized_formats(schema, version) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    warnings
}

fn is_established(definition: &Object) -> bool {
    let conditions = definition
        .at(&["status", "conditions"])
        .and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        text(condition, "type") == "Established" && text(condition, "status") == "True"
    })
}

struct Checker<'a> {
    spec: &'a Value,
    stored: Option<&'a Value>,
    version: Version,
    errors: FieldErrors,
}

impl<'a> Checker<'a> {
    fn versions(&self) -> &'a [Value] {
        list(self.spec, "versions")
    }

    fn names(&self) -> &'a Value {
        subschema(self.spec, "names").unwrap_or(&Value::Null)
    }

    fn object_name(&mut self, name: &str) {
        let (plural, group) = (text(self.names(), "plural"), text(self.spec, "group"));
        if name != format!("{plural}.{group}") {
            let path = Path::ROOT.field("metadata");
            let problem = "must be spec.names.plural+\".\"+spec.group";
            self.errors
                .push(FieldError::invalid(&path.field("name"), name, problem));
        }
    }

    fn check(&mut self) {
        let path = Path::ROOT.field("spec");
        self.group(&path);
        self.scope(&path);
        self.schemas_are_there(&path);
        self.each_version(&path);
        self.versions_together(&path);
        names::check(self.names(), &path.field("names"), &mut self.errors);
        self.shared(&path);
        conversion::check(
            self.spec,
            self.stored,
            &path.field("conversion"),
            &mut self.errors,
        );
    }

    fn group(&mut self, path: &Path<'_>) {
        let path = path.field("group");
        let group = text(self.spec, "group");
        let problems = name_rules::dns1123_subdomain(group);
        if group.is_empty() {
            self.errors.push(FieldError::required(&path, ""));
        } else if !problems.is_empty() {
            self.errors
                .push(FieldError::invalid(&path, group, problems.join(",")));
        } else if !group.contains('.') {
            let problem = "should be a domain with at least one dot";
            self.errors.push(FieldError::invalid(&path, group, problem));
        }
    }

    fn scope(&mut self, path: &Path<'_>) {
        let path = path.field("scope");
        match text(self.spec, "scope") {
            "Cluster" | "Namespaced" => {}
            "" => self.errors.push(FieldError::required(&path, "")),
            other => self.errors.push(FieldError::not_supported(
                &path,
                other,
                ["Cluster", "Namespaced"],
            )),
        }
    }

    fn schemas_are_there(&mut self, path: &Path<'_>) {
        let path = path.field("versions");
        for (index, version) in self.versions().iter().enumerate() {
            if schema_of(version).is_none() {
                let path = path.index(index);
                let path = path.field("schema");
                self.errors
                    .push(FieldError::required(&path.field("openAPIV3Schema"), ""));
            }
        }
    }

    /// What all versions have in common is told once, as part of the spec.
    fn is_shared(&self, field: &str) -> bool {
        let mut values = self
            .versions()
            .iter()
            .map(|version| given(version, field).filter(|value| !is_empty(value)));
        match values.next() {
            Some(Some(first)) => values.all(|value| value == Some(first)),
            _ => false,
        }
    }

    fn each_version(&mut self, path: &Path<'_>) {
        let path = path.field("versions");
        for (index, version) in self.versions().iter().enumerate() {
            let path = path.index(index);
            let name = text(version, "name");
            let problems = name_rules::dns1035_label(name);
            if !problems.is_empty() {
                self.errors.push(FieldError::invalid(
                    &path.field("name"),
                    name,
                    problems.join(","),
                ));
            }
            self.deprecation(version, &path);
            self.parts(version, &path, Told::InVersions);
        }
    }

    fn shared(&mut self, path: &Path<'_>) {
        if let Some(version) = self.versions().first() {
            self.parts(version, path, Told::InSpec);
        }
    }

    /// Schema, subresources, columns and selectable fields, each where it is told.
    fn parts(&mut self, version: &Value, path: &Path<'_>, told: Told) {
        let here = |field: &str, checker: &Self| checker.is_shared(field) == (told == Told::InSpec);
        if here("schema", self)
            && let Some(schema) = schema_of(version)
        {
            let parent = match told {
                Told::InSpec => path.field("validation"),
                Told::InVersions => path.field("schema"),
            };
            let status = self.status_of(version, told);
            self.schema(schema, status, &parent.field("openAPIV3Schema"));
        }
        if here("subresources", self) {
            let path = path.field("subresources");
            subresources::check(version.get("subresources"), &path, &mut self.errors);
        }
        if here("additionalPrinterColumns", self) {
            let path = path.field("additionalPrinterColumns");
            columns::check(
                list(version, "additionalPrinterColumns"),
                &path,
                &mut self.errors,
            );
        }
        if here("selectableFields", self)
            && let Some(schema) = schema_of(version)
        {
            let fields = list(version, "selectableFields");
            let stored = self.stored_version(text(version, "name"));
            let unchanged = stored.is_some_and(|stored| list(stored, "selectableFields") == fields);
            let path = path.field("selectableFields");
            selectable::check(fields, schema, unchanged, &path, &mut self.errors);
        }
    }

    fn status_of(&self, version: &Value, told: Told) -> StatusSubresource {
        let has = |version: &Value| {
            version
                .pointer("/subresources/status")
                .is_some_and(|status| !status.is_null())
        };
        let present = match told {
            Told::InSpec => self.versions().iter().any(has),
            Told::InVersions => has(version),
        };
        if present {
            StatusSubresource::Present
        } else {
            StatusSubresource::Absent
        }
    }

    fn schema(&mut self, schema: &Value, status: StatusSubresource, path: &Path<'_>) {
        let stored = self
            .stored
            .map_or(&[][..], |stored| list(stored, "versions"));
        let stored: Vec<&Value> = stored.iter().filter_map(schema_of).collect();
        let options = CheckOptions {
            version: self.version,
            stored: &stored,
            status,
        };
        self.errors.extend(check(schema, path, options));
    }

    fn stored_version(&self, name: &str) -> Option<&'a Value> {
        let stored = list(self.stored?, "versions");
        stored.iter().find(|version| text(version, "name") == name)
    }

    fn deprecation(&mut self, version: &Value, path: &Path<'_>) {
        let Some(warning) = given(version, "deprecationWarning").and_then(Value::as_str) else {
            return;
        };
        let path = path.field("deprecationWarning");
        let mut problems: Vec<String> = Vec::new();
        if !flag(version, "deprecated") {
            problems.push("can only be set for deprecated versions".to_owned());
        } else if warning.is_empty() {
            problems.push("must not be an empty string".to_owned());
        } else if warning.len() > DEPRECATION_WARNING_BYTES_MAX {
            problems.push(format!(
                "must be <= {DEPRECATION_WARNING_BYTES_MAX} characters long"
            ));
        }
        let unprintable = warning
            .char_indices()
            .find(|(_, character)| !go::is_printable(*character));
        if let (true, Some((at, _))) = (flag(version, "deprecated"), unprintable) {
            problems.push(format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {at}"
            ));
        }
        self.errors.extend(
            problems
                .into_iter()
                .map(|problem| FieldError::invalid(&path, warning, problem)),
        );
    }

    fn versions_together(&mut self, path: &Path<'_>) {
        let path = path.field("versions");
        let versions = self.versions();
        let names: Vec<&str> = versions
            .iter()
            .map(|version| text(version, "name"))
            .collect();
        let unique = names
            .iter()
            .enumerate()
            .all(|(at, name)| !names[..at].contains(name));
        if !unique {
            let problem = "must contain unique version names";
            self.errors
                .push(FieldError::invalid(&path, versions.to_vec(), problem));
        }
        if versions
            .iter()
            .filter(|version| flag(version, "storage"))
            .count()
            != 1
        {
            let problem = "must have exactly one version marked as storage version";
            self.errors
                .push(FieldError::invalid(&path, versions.to_vec(), problem));
        }
    }

    /// Names that objects are stored and found by stay, from the moment there can be objects.
    fn immutable(&mut self, established: bool) {
        let Some(stored) = self.stored else {
            return;
        };
        let fields: &[&[&str]] = &[
            &["scope"],
            &["names", "kind"],
            &["group"],
            &["names", "plural"],
        ];
        for (index, field) in fields.iter().enumerate() {
            let always = index > 1;
            let value = |spec: &Value| {
                field
                    .iter()
                    .try_fold(spec.clone(), |value, name| value.get(name).cloned())
            };
            let (new, old) = (value(self.spec), value(stored));
            if (established || always) && new != old {
                let path = Path::ROOT.field("spec");
                let path = path.field(field[0]);
                let problem = "field is immutable";
                let new = new.unwrap_or_else(|| Value::from(""));
                self.errors.push(match field.get(1) {
                    Some(name) => FieldError::invalid(&path.field(name), new, problem),
                    None => FieldError::invalid(&path, new, problem),
                });
            }
        }
    }

    fn stored_versions(&mut self, definition: &Object) {
        let path = Path::ROOT.field("status");
        let path = path.field("storedVersions");
        let status = definition.at(&["status"]).unwrap_or(&Value::Null);
        let stored: Vec<&str> = texts(status, "storedVersions").collect();
        if stored.is_empty() {
            let problem = "must have at least one stored version";
            self.errors
                .push(FieldError::invalid(&path, Vec::<Value>::new(), problem));
            return;
        }
        for version in self
            .versions()
            .iter()
            .filter(|version| flag(version, "storage"))
        {
            let name = text(version, "name");
            if !stored.contains(&name) {
                let problem = format!("must have the storage version {name}");
                self.errors
                    .push(FieldError::invalid(&path, stored.clone(), problem));
            }
        }
        for (index, name) in stored.iter().enumerate() {
            if !self
                .versions()
                .iter()
                .any(|version| text(version, "name") == *name)
            {
                let problem = format!(
                    "missing from spec.versions; {name} was previously a storage version, and must remain in \
                     spec.versions until a storage migration ensures no data remains persisted in {name} and removes \
                     {name} from status.storedVersions"
                );
                self.errors
                    .push(FieldError::invalid(&path.index(index), *name, problem));
            }
        }
    }

    fn approval(&mut self, definition: &Object, stored: Option<&Object>) {
        let group = text(self.spec, "group");
        let of =
            |definition: &Object| Approval::of(definition.annotation(APPROVAL).unwrap_or_default());
        let approval = of(definition);
        if !is_protected(group) || stored.is_some_and(|stored| of(stored) == approval) {
            return;
        }
        let path = Path::ROOT.field("metadata");
        let path = path.field("annotations");
        let path = path.key(APPROVAL);
        let see = "see https://github.com/kubernetes/enhancements/pull/1111";
        match approval {
            Approval::Given | Approval::Bypassed => {}
            Approval::Missing => {
                let problem =
                    format!("protected groups must have approval annotation \"{APPROVAL}\", {see}");
                self.errors.push(FieldError::required(&path, problem));
            }
            Approval::Invalid => {
                let problem = format!(
                    "protected groups must have approval annotation \"{APPROVAL}\" with either a URL or a reason \
                     starting with \"unapproved\", {see}"
                );
                let value = definition.annotation(APPROVAL).unwrap_or_default();
                self.errors.push(FieldError::invalid(&path, value, problem));
            }
        }
    }

    fn preserve_unknown(&mut self) {
        let was = self
            .stored
            .is_some_and(|stored| flag(stored, "preserveUnknownFields"));
        if flag(self.spec, "preserveUnknownFields") && !was {
            let path = Path::ROOT.field("spec");
            let problem = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                           spec.versions[*].schema instead";
            self.errors.push(FieldError::invalid(
                &path.field("preserveUnknownFields"),
                true,
                problem,
            ));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    InVersions,
    InSpec,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Approval {
    Missing,
    Bypassed,
    Given,
    Invalid,
}

impl Approval {
    fn of(annotation: &str) -> Self {
        let is_url = || {
            parse_request_uri(annotation)
                .is_ok_and(|url| !url.host().is_empty() && !url.scheme().is_empty())
        };
        match annotation {
            "" => Self::Missing,
            text if text.starts_with("unapproved") => Self::Bypassed,
            _ if is_url() => Self::Given,
            _ => Self::Invalid,
        }
    }
}

/// Whether a group belongs to the community.
fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"].iter().any(|domain| {
        group
            .strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    })
}

fn schema_of(version: &Value) -> Option<&Value> {
    version
        .pointer("/schema/openAPIV3Schema")
        .filter(|schema| !schema.is_null())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(elements) => elements.is_empty(),
        Value::Object(_) => false,
        other => other.is_null(),
    }
}
