//! Request options: parsing and validation of query parameters.

use crate::field::{FieldError, FieldErrors, Path};
use crate::go;

/// Longest `fieldManager`.
pub const FIELD_MANAGER_BYTES_MAX: usize = 128;

/// Boolean query parameter: absent is false; present is true unless it is `0` or `false`, as upstream converts it.
///
/// ```
/// use lockstep_object::options::flag;
/// let read = [None, Some(""), Some("0"), Some("False"), Some("True"), Some("yes")].map(flag);
/// assert_eq!(read, [false, true, false, false, true, true]);
/// ```
pub fn flag(parameter: Option<&str>) -> bool {
    parameter.is_some_and(|text| text != "0" && !text.eq_ignore_ascii_case("false"))
}

/// Validates `fieldManager`.
pub fn validate_field_manager(manager: &str) -> FieldErrors {
    let path = Path::ROOT.field("fieldManager");
    let mut errors = FieldErrors::new();
    if manager.len() > FIELD_MANAGER_BYTES_MAX {
        errors.push(FieldError::too_long(&path, FIELD_MANAGER_BYTES_MAX));
    }
    let unprintable = manager
        .char_indices()
        .find(|(_, character)| !go::is_printable(*character));
    if let Some((at, character)) = unprintable {
        let problem = format!(
            "invalid character U+{:04X} (at position {at})",
            u32::from(character)
        );
        errors.push(FieldError::invalid(&path, manager, problem));
    }
    errors
}

/// Validates `dryRun`: every value must be `All`.
pub fn validate_dry_run(values: &[&str]) -> FieldErrors {
    if values.iter().all(|value| *value == "All") {
        return FieldErrors::new();
    }
    let path = Path::ROOT.field("dryRun");
    [FieldError::not_supported(&path, values, ["All"])].into()
}

/// Distinguishes server-side apply from the other patch types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchKind {
    /// `application/apply-patch+yaml`
    Apply,
    /// Any other.
    Change,
}

/// Validates patch options: `force` is only allowed for apply, and apply requires a field manager.
pub fn validate_patch(kind: PatchKind, manager: &str, force: Option<bool>) -> FieldErrors {
    let mut errors = FieldErrors::new();
    match kind {
        PatchKind::Apply if manager.is_empty() => {
            let problem = "is required for apply patch";
            errors.push(FieldError::required(
                &Path::ROOT.field("fieldManager"),
                problem,
            ));
        }
        PatchKind::Change if force.is_some() => {
            let problem = "may not be specified for non-apply patch";
            errors.push(FieldError::forbidden(&Path::ROOT.field("force"), problem));
        }
        PatchKind::Apply | PatchKind::Change => {}
    }
    errors.append(validate_field_manager(manager));
    errors
}

/// Validates `propagationPolicy` together with the deprecated `orphanDependents`.
pub fn validate_propagation(policy: Option<&str>, orphan_dependents: Option<bool>) -> FieldErrors {
    let Some(policy) = policy else {
        return FieldErrors::new();
    };
    let path = Path::ROOT.field("propagationPolicy");
    let mut errors = FieldErrors::new();
    if orphan_dependents.is_some() {
        let problem = "orphanDependents and deletionPropagation cannot be both set";
        errors.push(FieldError::invalid(&path, policy, problem));
    }
    if !matches!(policy, "Foreground" | "Background" | "Orphan") {
        let policies = ["Foreground", "Background", "Orphan", "nil"];
        errors.push(FieldError::not_supported(&path, policy, policies));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &FieldErrors) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    /// api-machinery.md §10, A1
    #[test]
    fn an_apply_says_who_applies_and_only_an_apply_forces() {
        let apply = |manager: &str| texts(&validate_patch(PatchKind::Apply, manager, Some(true)));
        assert_eq!(apply("kubectl"), [""; 0]);
        assert_eq!(
            apply(""),
            ["fieldManager: Required value: is required for apply patch"]
        );
        assert_eq!(
            apply(&"x".repeat(129)),
            ["fieldManager: Too long: may not be more than 128 bytes"]
        );
        assert_eq!(
            apply("a\u{7}"),
            ["fieldManager: Invalid value: \"a\\a\": invalid character U+0007 (at position 1)"]
        );
        assert_eq!(
            texts(&validate_patch(PatchKind::Change, "", Some(false))),
            ["force: Forbidden: may not be specified for non-apply patch"]
        );
        assert_eq!(texts(&validate_patch(PatchKind::Change, "", None)), [""; 0]);
    }

    /// api-machinery.md §6/dry-run
    #[test]
    fn a_dry_run_is_all_or_nothing() {
        assert_eq!(texts(&validate_dry_run(&[])), [""; 0]);
        assert_eq!(texts(&validate_dry_run(&["All"])), [""; 0]);
        assert_eq!(
            texts(&validate_dry_run(&[""])),
            ["dryRun: Unsupported value: [\"\"]: supported values: \"All\""]
        );
        assert_eq!(
            texts(&validate_dry_run(&["All", "all"])),
            ["dryRun: Unsupported value: [\"All\",\"all\"]: supported values: \"All\""]
        );
    }

    /// api-machinery.md §8/propagation
    #[test]
    fn dependents_are_treated_one_way() {
        assert_eq!(texts(&validate_propagation(None, Some(true))), [""; 0]);
        assert_eq!(texts(&validate_propagation(Some("Orphan"), None)), [""; 0]);
        assert_eq!(
            texts(&validate_propagation(Some("Never"), Some(true))),
            [
                "propagationPolicy: Invalid value: \"Never\": orphanDependents and deletionPropagation cannot be both set",
                "propagationPolicy: Unsupported value: \"Never\": supported values: \"Foreground\", \"Background\", \
                 \"Orphan\", \"nil\""
            ]
        );
    }
}
