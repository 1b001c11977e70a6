//! Update rules of `CustomResourceDefinitions`: immutable fields and stored versions.

use super::Checker;
use super::approval::{APPROVAL, Approval};
use super::is_storage_version;
use crate::keywords::{flag, text, texts};
use lockstep_object::Object;
use lockstep_object::field::{FieldError, Path};
use serde_json::Value;

pub(super) fn is_established(definition: &Object) -> bool {
    let conditions = definition
        .at(&["status", "conditions"])
        .and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| {
        text(condition, "type") == "Established" && text(condition, "status") == "True"
    })
}

impl Checker<'_> {
    /// Names that objects are stored and found by stay, from the moment there can be objects.
    pub(super) fn immutable(&mut self, established: bool) {
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
                    Some(name) => FieldError::invalid(&path.field(name), &new, problem),
                    None => FieldError::invalid(&path, &new, problem),
                });
            }
        }
    }

    pub(super) fn stored_versions(&mut self, definition: &Object) {
        let path = Path::ROOT.field("status");
        let path = path.field("storedVersions");
        let status = definition.at(&["status"]).unwrap_or(&Value::Null);
        let stored: Vec<&str> = texts(status, "storedVersions").collect();
        if stored.is_empty() {
            let problem = "must have at least one stored version";
            self.errors
                .push(FieldError::invalid(&path, &[] as &[Value], problem));
            return;
        }
        for version in self
            .versions()
            .iter()
            .filter(|version| is_storage_version(version))
        {
            let name = text(version, "name");
            if !stored.contains(&name) {
                let problem = format!("must have the storage version {name}");
                self.errors
                    .push(FieldError::invalid(&path, &*stored, problem));
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

    pub(super) fn approval(&mut self, definition: &Object, stored: Option<&Object>) {
        let Some(approval) = Approval::of(definition) else {
            return;
        };
        if stored.and_then(Approval::of).as_ref() == Some(&approval) {
            return;
        }
        let path = Path::ROOT.field("metadata");
        let path = path.field("annotations");
        let path = path.key(APPROVAL);
        let problem = approval.to_string();
        match approval {
            Approval::Given(_) | Approval::Bypassed(_) => {}
            Approval::Missing => self.errors.push(FieldError::required(&path, problem)),
            Approval::Invalid => {
                let value = definition.annotation(APPROVAL).unwrap_or_default();
                self.errors.push(FieldError::invalid(&path, value, problem));
            }
        }
    }

    pub(super) fn preserve_unknown(&mut self) {
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
