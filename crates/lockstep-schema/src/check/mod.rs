//! Validation of a schema when a `CustomResourceDefinition` is written.

mod defaults;
mod extensions;
mod keyword_types;
mod nested;
mod openapi;
mod rules;
mod structural;

use crate::compile::SCHEMA_DEPTH_MAX;
use crate::keywords::{flag, text};
use lockstep_cel::Version;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use serde_json::Value;

/// Options of [`check`].
#[derive(Debug, Clone, Copy)]
pub struct CheckOptions<'a> {
    /// Kubernetes version whose CEL libraries new expressions may use.
    pub version: Version,
    /// The replaced schemas: their expressions may keep using newer libraries, and the cost of an unchanged schema is
    /// not checked again.
    pub stored: &'a [&'a Value],
    /// Presence of a status subresource, which restricts the keywords of the root.
    pub status: StatusSubresource,
}

/// Presence of a status subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusSubresource {
    /// There is.
    Present,
    /// There is none.
    Absent,
}

/// Validates the schema of a definition at a path. If there are no errors, [`Schema::compile`](crate::Schema::compile)
/// succeeds.
pub fn check(schema: &Value, path: &Path<'_>, options: CheckOptions<'_>) -> FieldErrors {
    if !schema.is_object() {
        return [FieldError::type_invalid(path, schema, "must be a schema")].into();
    }
    if depth(schema) > SCHEMA_DEPTH_MAX {
        let problem = format!("must not be nested deeper than {SCHEMA_DEPTH_MAX} levels");
        return [FieldError::forbidden(path, problem)].into();
    }
    let errors = keyword_types::check(schema, path);
    if !errors.is_empty() {
        return errors;
    }
    check_well_formed(schema, path, options)
}

fn check_well_formed(schema: &Value, path: &Path<'_>, options: CheckOptions<'_>) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if options.status == StatusSubresource::Present {
        openapi::check_root_with_status(schema, path, &mut errors);
    }
    if flag(schema, "nullable") {
        let problem = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(&path.field("nullable"), problem));
    }
    let unsupported = structural::unsupported(schema);
    let mut are_rules_checked = false;
    if unsupported.is_none() {
        let structural = structural::check(schema, path);
        if structural.is_empty() {
            let defaults = defaults::check(schema, path);
            are_rules_checked = defaults.is_empty();
            errors.append(defaults);
        } else {
            errors.append(structural);
        }
    }
    openapi::check(schema, path, &mut errors);
    if are_rules_checked && errors.is_empty() {
        errors.append(rules::check(schema, path, options));
    }
    if let (true, Some(problem)) = (errors.is_empty(), unsupported) {
        errors.push(FieldError::invalid(path, "", problem));
    }
    errors
}

/// Formats that are not judged, in the order of the schema: a warning each.
///
/// ```
/// use lockstep_cel::Version;
/// let schema = serde_json::json!({"type": "object", "properties": {"a": {"type": "string", "format": "zzz"}}});
/// assert_eq!(lockstep_schema::unrecognized_formats(&schema, Version::LATEST), ["unrecognized format \"zzz\""]);
/// ```
pub fn unrecognized_formats(schema: &Value, version: Version) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        let format = text(schema, "format");
        let ty = crate::node::Type::named(text(schema, "type"));
        let known = ty.is_some_and(|ty| crate::format::Format::of(format, ty, version).is_some());
        let warning = format!("unrecognized format {}", lockstep_object::go::quote(format));
        if !format.is_empty() && !known && !found.contains(&warning) {
            found.push(warning);
        }
        let mut below: Vec<&Value> = nested::all(schema).map(|(_, schema)| schema).collect();
        below.reverse();
        open.extend(below);
    }
    found
}

/// Nesting depth of schemas, through any keyword.
fn depth(schema: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(schema, 1)];
    while let Some((schema, depth)) = open.pop() {
        deepest = deepest.max(depth);
        open.extend(nested::all(schema).map(|(_, below)| (below, depth + 1)));
    }
    deepest
}
