//! Name acceptance: conflicts with the names of other definitions.

use crate::keywords::{list, text, texts};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names as rules;
use serde_json::Value;

pub(super) fn check(names: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    for field in ["plural", "singular", "kind", "listKind"] {
        if text(names, field).is_empty() {
            errors.push(FieldError::required(&path.field(field), ""));
        }
    }
    for field in ["plural", "singular"] {
        label(text(names, field), &path.field(field), errors);
    }
    for field in ["kind", "listKind"] {
        let kind = text(names, field);
        let problems = rules::dns1035_label(&kind.to_lowercase());
        if !kind.is_empty() && !problems.is_empty() {
            let problem = format!(
                "may have mixed case, but should otherwise match: {}",
                problems.join(",")
            );
            errors.push(FieldError::invalid(&path.field(field), kind, problem));
        }
    }
    each(names, "shortNames", path, errors);
    let (kind, list_kind) = (text(names, "kind"), text(names, "listKind"));
    if !kind.is_empty() && kind == list_kind {
        let problem = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(
            &path.field("listKind"),
            list_kind,
            problem,
        ));
    }
    each(names, "categories", path, errors);
}

fn label(name: &str, path: &Path<'_>, errors: &mut FieldErrors) {
    let problems = rules::dns1035_label(name);
    if !name.is_empty() && !problems.is_empty() {
        errors.push(FieldError::invalid(path, name, problems.join(",")));
    }
}

fn each(names: &Value, field: &str, path: &Path<'_>, errors: &mut FieldErrors) {
    let path = path.field(field);
    for (index, name) in list(names, field).iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        let problems = rules::dns1035_label(name);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(
                &path.index(index),
                name,
                problems.join(","),
            ));
        }
    }
}

/// A name that another definition of the group has: the `reason` and `message` of the `NamesAccepted` condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameConflict {
    /// `PluralConflict`, `SingularConflict`, `ShortNamesConflict`, `KindConflict`, `ListKindConflict`.
    pub reason: &'static str,
    /// Message with the conflicting name.
    pub message: String,
}

/// The last conflict of the `names` of a definition with the accepted names of others of its group, looked for in
/// upstream's order; none when all names are free.
///
/// Resources share one space of names (plural, singular, short), kinds another.
pub fn conflict<'a>(
    names: &Value,
    others: impl IntoIterator<Item = &'a Value>,
) -> Option<NameConflict> {
    let (mut resources, mut kinds): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for other in others {
        resources.extend([text(other, "plural"), text(other, "singular")]);
        resources.extend(texts(other, "shortNames"));
        kinds.extend([text(other, "kind"), text(other, "listKind")]);
    }
    let mut found = None;
    let mut look = |name: &str, taken: &[&str], reason: &'static str| {
        if !name.is_empty() && taken.contains(&name) {
            let message = format!("{} is already in use", lockstep_object::go::quote(name));
            found = Some(NameConflict { reason, message });
        }
    };
    look(text(names, "plural"), &resources, "PluralConflict");
    look(text(names, "singular"), &resources, "SingularConflict");
    for short in texts(names, "shortNames") {
        look(short, &resources, "ShortNamesConflict");
    }
    look(text(names, "kind"), &kinds, "KindConflict");
    look(text(names, "listKind"), &kinds, "ListKindConflict");
    found
}
