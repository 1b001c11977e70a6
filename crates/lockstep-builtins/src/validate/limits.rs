//! Limit ranges.

use std::collections::BTreeSet;

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Value, names};

use super::{Errors, push_problems};
use crate::amounts::amount;
use crate::look::{entries, list, text};

pub(crate) fn limits(range: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("spec");
    let path = path.field("limits");
    let mut seen = BTreeSet::new();
    for (index, item) in list(&range["spec"], "limits").iter().enumerate() {
        let path = path.index(index);
        let kind = text(item, "type");
        kind_of_limit(kind, &path.field("type"), errors);
        if !seen.insert(kind) {
            errors.push_with(|| FieldError::duplicate(&path.field("type"), kind));
        }
        limit(item, kind, &path, errors);
    }
}

fn kind_of_limit(kind: &str, path: &Path<'_>, errors: &mut Errors) {
    let problems = names::qualified_name(kind);
    let is_known = matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
    if problems.is_empty() && !is_known && !kind.contains('/') {
        let why = "must be a standard limit type or fully qualified";
        errors.push_with(|| FieldError::invalid(path, kind, why));
    }
    push_problems(problems, kind, path, errors);
}

fn limit(item: &Value, kind: &str, path: &Path<'_>, errors: &mut Errors) {
    const FIELDS: [&str; 5] = [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ];
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if entries(item, field).next().is_some() {
                let why = "may not be specified when `type` is 'Pod'";
                errors.push_with(|| FieldError::forbidden(&path.field(field), why));
            }
        }
    }
    if kind == "PersistentVolumeClaim" {
        let has = |field: &str| item[field].get("storage").is_some();
        if !has("min") && !has("max") {
            let why =
                "either minimum or maximum storage value is required, but neither was provided";
            errors.push_with(|| FieldError::required(&path.field("limits"), why));
        }
    }
    let names: BTreeSet<&str> = FIELDS
        .into_iter()
        .flat_map(|field| entries(item, field).map(|(name, _)| name))
        .collect();
    for name in names {
        let of = |field: &str| item[field].get(name);
        let asked = if kind == "Pod" {
            None
        } else {
            of("defaultRequest")
        };
        let default = if kind == "Pod" { None } else { of("default") };
        let pairs = [
            ("min", "min value", of("min"), "max value", of("max")),
            (
                "defaultRequest",
                "default request value",
                asked,
                "max value",
                of("max"),
            ),
            (
                "defaultRequest",
                "default request value",
                asked,
                "default value",
                default,
            ),
            ("default", "default value", default, "max value", of("max")),
        ];
        lower_bounds(name, &pairs[..1], path, errors);
        under_minimum(name, (of("min"), asked, default), path, errors);
        lower_bounds(name, &pairs[1..], path, errors);
    }
}

type Pair<'v> = (
    &'static str,
    &'static str,
    Option<&'v Value>,
    &'static str,
    Option<&'v Value>,
);

fn lower_bounds(name: &str, pairs: &[Pair<'_>], path: &Path<'_>, errors: &mut Errors) {
    for (field, what, low, other, high) in pairs {
        let (Some(low), Some(high)) = (low, high) else {
            continue;
        };
        if amount(low) > amount(high) {
            let (low, high) = (shown(low), shown(high));
            let why = format!("{what} {low} is greater than {other} {high}");
            // Upstream shows the bound for defaults.
            let value = if *field == "default" { high } else { low };
            let place = path.field(field);
            errors.push_with(|| FieldError::invalid(&place.key(name), value, why));
        }
    }
}

fn under_minimum(
    name: &str,
    (least, asked, default): (Option<&Value>, Option<&Value>, Option<&Value>),
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let rows = [
        ("defaultRequest", "default request value", asked),
        ("default", "default value", default),
    ];
    for (field, what, value) in rows {
        let (Some(least), Some(value)) = (least, value) else {
            continue;
        };
        if amount(least) > amount(value) {
            let why = format!(
                "min value {} is greater than {what} {}",
                shown(least),
                shown(value)
            );
            let place = path.field(field);
            errors.push_with(|| FieldError::invalid(&place.key(name), shown(value), why));
        }
    }
}

fn shown(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn limits_update(new: &Value, _old: &Value, errors: &mut Errors) {
    limits(new, errors);
}
