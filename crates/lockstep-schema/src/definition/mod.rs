//! Validation of `CustomResourceDefinitions` beyond their schemas.

mod approval;
mod columns;
mod conversion;
mod defaults;
mod history;
mod names;
mod selectable;
mod subresources;

use crate::check::{CheckOptions, StatusSubresource, check};
use crate::keywords::{flag, given, list, schema as subschema, text};
use lockstep_cel::Version;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names as name_rules;
use lockstep_object::{Object, go};
use serde_json::Value;

pub use approval::Approval;
pub use defaults::default_definition;
pub use names::{NameConflict, conflict};

/// Longest deprecation warning.
const DEPRECATION_WARNING_BYTES_MAX: usize = 256;

/// True for the entry of `spec.versions` that objects are stored in. No other code reads that mark of a CRD; the
/// encoding version of a served resource is decided by its catalog.
pub fn is_storage_version(version: &Value) -> bool {
    flag(version, "storage")
}

/// The version objects are stored in.
pub fn storage_version(definition: &Object) -> Option<&str> {
    let spec = definition.at(&["spec"])?;
    list(spec, "versions")
        .iter()
        .find(|version| is_storage_version(version))
        .map(|version| text(version, "name"))
}

/// Validates a [defaulted](default_definition) definition, except its metadata. If a stored definition is given,
/// immutable fields are compared.
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
        checker.immutable(history::is_established(stored));
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

    /// True if all versions share the value, in which case errors are reported at the spec as upstream does.
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
            self.parts(version, &path, ErrorLocation::InVersions);
        }
    }

    fn shared(&mut self, path: &Path<'_>) {
        if let Some(version) = self.versions().first() {
            self.parts(version, path, ErrorLocation::InSpec);
        }
    }

    /// Validates schema, subresources, columns and selectable fields, reporting each at the spec or the version.
    fn parts(&mut self, version: &Value, path: &Path<'_>, location: ErrorLocation) {
        let here = |field: &str, checker: &Self| {
            checker.is_shared(field) == (location == ErrorLocation::InSpec)
        };
        if here("schema", self)
            && let Some(schema) = schema_of(version)
        {
            let parent = match location {
                ErrorLocation::InSpec => path.field("validation"),
                ErrorLocation::InVersions => path.field("schema"),
            };
            let status = self.status_of(version, location);
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

    fn status_of(&self, version: &Value, location: ErrorLocation) -> StatusSubresource {
        let has = |version: &Value| {
            version
                .pointer("/subresources/status")
                .is_some_and(|status| !status.is_null())
        };
        let present = match location {
            ErrorLocation::InSpec => self.versions().iter().any(has),
            ErrorLocation::InVersions => has(version),
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
        self.errors.append(check(schema, path, options));
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
                .push(FieldError::invalid(&path, versions, problem));
        }
        if versions
            .iter()
            .filter(|version| is_storage_version(version))
            .count()
            != 1
        {
            let problem = "must have exactly one version marked as storage version";
            self.errors
                .push(FieldError::invalid(&path, versions, problem));
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ErrorLocation {
    InVersions,
    InSpec,
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
