//! Validation of the gates of a `CustomResourceDefinition`.

use lockstep_object::field::{FIELD_BYTES_MAX, FieldError, FieldErrors, Path, Shown};
use lockstep_object::names::dns1123_subdomain;
use lockstep_object::{Object, Value, go};

use crate::gate::{ANNOTATION, Source, Stage, source};
use crate::path::FieldPath;
use crate::place;

/// Maximum number of gates per definition.
pub const GATES_MAX: usize = 64;
/// Maximum number of field paths per gate.
pub const PATHS_MAX: usize = 32;
/// Maximum length of a gate name and of the component name.
const NAME_BYTES_MAX: usize = 63;
/// Maximum length of a deprecation warning.
const WARNING_BYTES_MAX: usize = 256;
/// Reserved names: Kubernetes feature gates use them to switch groups of gates.
const RESERVED: [&str; 2] = ["AllAlpha", "AllBeta"];

/// Validates the gates of a definition. Errors that the stored definition already has are ratcheted: a rule added later
/// must not block unrelated updates.
pub fn check_gates(definition: &Object, stored: Option<&Object>) -> FieldErrors {
    let found = findings(definition);
    let known = stored.map(findings).unwrap_or_default();
    let new = found.into_iter().filter(|finding| {
        let is_same = |known: &Finding| {
            let (one, other) = (&known.error, &finding.error);
            // A gate may have moved within the list.
            let place = !finding.about.is_empty() || one.field == other.field;
            let fault = (one.error_type, &one.value, &one.detail);
            place
                && known.about == finding.about
                && fault == (other.error_type, &other.value, &other.detail)
        };
        !known.iter().any(is_same)
    });
    new.map(|finding| finding.error).collect()
}

/// A validation error and the gate it belongs to.
#[derive(Debug)]
struct Finding {
    about: String,
    error: FieldError,
}

fn findings(definition: &Object) -> Vec<Finding> {
    let metadata = Path::ROOT.field("metadata");
    let annotations = metadata.field("annotations");
    let spec = Path::ROOT.field("spec");
    let mut checker = Checker {
        storage: place::storage(definition),
        taken: Vec::new(),
        findings: Vec::new(),
    };
    let parsed;
    let (gates, path) = match source(definition) {
        Source::Nowhere => return Vec::new(),
        Source::Spec(gates) => (gates, spec.field("customFeatureGates")),
        Source::Annotation(text) => {
            let path = annotations.key(ANNOTATION);
            match serde_json::from_str::<Value>(text) {
                Ok(value @ Value::Object(_)) => parsed = value,
                _ => {
                    checker.invalid("", &path, text, "must be a JSON object");
                    return checker.findings;
                }
            }
            (&parsed, path)
        }
    };
    let keeps_unknown =
        definition.at(&["spec", "preserveUnknownFields"]) == Some(&Value::Bool(true));
    if keeps_unknown || checker.storage.is_none() {
        checker.invalid("", &path, &Value::Null, "needs a structural schema");
    }
    checker.list(gates, &path);
    checker.findings
}

struct Checker<'d> {
    /// Name and schema of the storage version.
    storage: Option<(&'d str, &'d Value)>,
    /// Paths seen so far, with their gate and indices.
    taken: Vec<(FieldPath, String, usize, usize)>,
    findings: Vec<Finding>,
}

impl Checker<'_> {
    fn push(&mut self, about: &str, error: FieldError) {
        self.findings.push(Finding {
            about: about.to_owned(),
            error,
        });
    }

    fn invalid(&mut self, about: &str, path: &Path<'_>, value: impl Into<Shown>, problem: &str) {
        self.push(about, FieldError::invalid(path, value, problem));
    }

    /// Reads an optional field of an expected type; another type is reported as an error.
    fn typed<'v, T>(
        &mut self,
        (holder, field): (&'v Value, &str),
        (about, path): (&str, &Path<'_>),
        read: impl Fn(&'v Value) -> Option<T>,
        wanted: &str,
    ) -> Option<T> {
        let value = holder.get(field).filter(|value| !value.is_null())?;
        let found = read(value);
        if found.is_none() {
            let problem = format!("must be {wanted}");
            self.push(
                about,
                FieldError::type_invalid(&path.field(field), value, problem),
            );
        }
        found
    }

    fn list(&mut self, gates: &Value, path: &Path<'_>) {
        let place = ("", path);
        if let Some(component) = self.typed((gates, "component"), place, Value::as_str, "a string")
        {
            let mut problems = dns1123_subdomain(component);
            if component.len() > NAME_BYTES_MAX {
                problems.push(format!("must be no more than {NAME_BYTES_MAX} bytes"));
            }
            if !problems.is_empty() {
                self.invalid("", &path.field("component"), component, &problems.join(","));
            }
        }
        let policy = (gates, "disabledFieldPolicy");
        if let Some(policy) = self.typed(policy, place, Value::as_str, "a string")
            && !matches!(policy, "Drop" | "Reject")
        {
            let path = path.field("disabledFieldPolicy");
            self.push(
                "",
                FieldError::not_supported(&path, policy, ["Drop", "Reject"]),
            );
        }
        let list = self.typed((gates, "featureGates"), place, Value::as_array, "a list");
        let path = path.field("featureGates");
        let list = list.map_or(&[][..], Vec::as_slice);
        if list.is_empty()
            && gates
                .get("featureGates")
                .is_none_or(|list| list.is_array() || list.is_null())
        {
            self.push(
                "",
                FieldError::required(&path, "must list at least one gate"),
            );
        }
        if list.len() > GATES_MAX {
            self.push("", FieldError::too_many(&path, list.len(), GATES_MAX));
            return;
        }
        let mut names: Vec<&str> = Vec::new();
        for (index, gate) in list.iter().enumerate() {
            let path = path.index(index);
            if !gate.is_object() {
                self.push(
                    "",
                    FieldError::type_invalid(&path, gate, "must be an object"),
                );
                continue;
            }
            let name = gate.get("name").and_then(Value::as_str).unwrap_or_default();
            // Findings repeat it.
            let name = go::start_of(name, FIELD_BYTES_MAX);
            self.name(gate, name, &names, &path);
            names.push(name);
            self.stage(gate, name, &path);
            self.paths(gate, name, index, &path);
        }
    }

    fn name(&mut self, gate: &Value, name: &str, others: &[&str], path: &Path<'_>) {
        if gate
            .get("name")
            .is_some_and(|name| !name.is_null() && !name.is_string())
        {
            self.typed((gate, "name"), ("", path), Value::as_str, "a string");
            return;
        }
        let path = path.field("name");
        if name.is_empty() {
            self.push("", FieldError::required(&path, ""));
        } else if !is_name(name) {
            let problem = "must match [A-Za-z][A-Za-z0-9]{0,62}";
            self.invalid(name, &path, name, problem);
        } else if RESERVED.contains(&name) {
            self.invalid(name, &path, name, "is reserved");
        } else if others.contains(&name) {
            self.push(name, FieldError::duplicate(&path, name));
        }
    }

    fn stage(&mut self, gate: &Value, name: &str, path: &Path<'_>) {
        let place = (name, path);
        self.typed((gate, "enabled"), place, Value::as_bool, "a boolean");
        let default = self.typed((gate, "default"), place, Value::as_bool, "a boolean");
        let warning = self.typed(
            (gate, "fieldDeprecationWarning"),
            place,
            Value::as_str,
            "a string",
        );
        let text = self.typed((gate, "preRelease"), place, Value::as_str, "a string");
        let stage = Stage::named(text.unwrap_or_default());
        match (text, stage) {
            (_, Some(_)) => {}
            (Some(unknown), None) if !unknown.is_empty() => {
                let known = Stage::NAMED.iter().map(|(name, _)| *name);
                let error = FieldError::not_supported(&path.field("preRelease"), unknown, known);
                self.push(name, error);
            }
            _ if gate
                .get("preRelease")
                .is_some_and(|stage| !stage.is_null() && !stage.is_string()) => {}
            _ => self.push(name, FieldError::required(&path.field("preRelease"), "")),
        }
        let place = path.field("default");
        match (stage, default) {
            (Some(stage @ (Stage::Alpha | Stage::Beta)), Some(true)) => {
                let problem = format!("must be false when preRelease is {}", stage.as_str());
                self.invalid(name, &place, true, &problem);
            }
            (Some(Stage::Stable), Some(false)) => {
                self.invalid(
                    name,
                    &place,
                    false,
                    "must be true when preRelease is stable",
                );
            }
            (Some(Stage::Deprecated), None) if gate.get("default").is_none_or(Value::is_null) => {
                let problem = "must be set when preRelease is deprecated";
                self.push(name, FieldError::required(&place, problem));
            }
            _ => {}
        }
        if let Some(warning) = warning {
            self.warning(warning, stage, name, &path.field("fieldDeprecationWarning"));
        }
    }

    fn warning(&mut self, warning: &str, stage: Option<Stage>, name: &str, path: &Path<'_>) {
        if stage != Some(Stage::Deprecated) {
            let problem = "can only be set when preRelease is deprecated";
            self.invalid(name, path, warning, problem);
            return;
        }
        if warning.is_empty() {
            self.invalid(name, path, warning, "must not be an empty string");
        } else if warning.len() > WARNING_BYTES_MAX {
            let problem = format!("must be <= {WARNING_BYTES_MAX} characters long");
            self.invalid(name, path, warning, &problem);
        }
        let mut characters = warning.char_indices();
        if let Some((at, _)) = characters.find(|(_, character)| !go::is_printable(*character)) {
            let problem = format!(
                "must only contain printable UTF-8 characters; non-printable character found at index {at}"
            );
            self.invalid(name, path, warning, &problem);
        }
    }

    fn paths(&mut self, gate: &Value, name: &str, at: usize, path: &Path<'_>) {
        let is_list = gate
            .get("fieldPaths")
            .is_none_or(|list| list.is_array() || list.is_null());
        let list = self.typed(
            (gate, "fieldPaths"),
            (name, path),
            Value::as_array,
            "a list",
        );
        let list = list.map_or(&[][..], Vec::as_slice);
        let path = path.field("fieldPaths");
        if list.is_empty() && is_list {
            self.push(name, FieldError::required(&path, ""));
        }
        if list.len() > PATHS_MAX {
            self.push(name, FieldError::too_many(&path, list.len(), PATHS_MAX));
            return;
        }
        for (index, text) in list.iter().enumerate() {
            let path = path.index(index);
            let Some(text) = text.as_str() else {
                self.push(
                    name,
                    FieldError::type_invalid(&path, text, "must be a string"),
                );
                continue;
            };
            match FieldPath::parse(text) {
                Ok(parsed) => self.path(parsed, text, (name, at, index), &path),
                Err(error) => self.invalid(name, &path, text, &error.to_string()),
            }
        }
    }

    fn path(
        &mut self,
        parsed: FieldPath,
        text: &str,
        (name, gate, index): (&str, usize, usize),
        path: &Path<'_>,
    ) {
        if let Some((version, schema)) = self.storage
            && let Err(error) = place::steps(schema, &parsed, version)
        {
            self.invalid(name, path, text, &error.to_string());
            return;
        }
        let taken = self
            .taken
            .iter()
            .find(|(taken, ..)| taken.overlaps(&parsed));
        match taken {
            Some((same, _, other, _)) if *other == gate && *same == parsed => {
                self.push(name, FieldError::duplicate(path, text));
            }
            Some((_, other, at, nth)) => {
                let problem =
                    format!("already gated by {other:?} (featureGates[{at}].fieldPaths[{nth}])");
                self.invalid(name, path, text, &problem);
            }
            None => {}
        }
        self.taken.push((parsed, name.to_owned(), gate, index));
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
