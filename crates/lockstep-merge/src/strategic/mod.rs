//! Strategic merge patch: a merge patch that uses type information to merge lists by key.
//!
//! A patch may contain directives: `$patch` (`replace`, `delete`, or `merge`, the default), `$retainKeys`,
//! `$setElementOrder/FIELD` and `$deleteFromPrimitiveList/FIELD`.

mod error;
mod lists;
mod patch_meta;

use lockstep_kinds::{Table, TypeId};
use serde_json::{Map, Value};

pub use error::StrategicError;
use patch_meta::{PatchMeta, Place, Strategy};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";

type Fields = Map<String, Value>;

/// Applies a strategic merge patch to an object of a built-in kind.
///
/// After an error the object is partially modified and must be discarded.
pub fn strategic_merge(
    table: &'static Table,
    kind: TypeId,
    object: &mut Fields,
    patch: Fields,
) -> Result<(), StrategicError> {
    merge_maps(Place::of(table, kind), object, patch)
}

/// Value of the `$patch` directive.
enum Directive {
    Merge,
    Replace,
    Delete,
}

fn take_directive(fields: &mut Fields) -> Result<Directive, StrategicError> {
    let Some(directive) = fields.remove(PATCH) else {
        return Ok(Directive::Merge);
    };
    Ok(match directive.as_str() {
        Some("merge") => Directive::Merge,
        Some("replace") => Directive::Replace,
        Some("delete") => Directive::Delete,
        _ => {
            return Err(StrategicError::Directive {
                directive: directive.to_string(),
                element: Value::Object(std::mem::take(fields)).to_string(),
            });
        }
    })
}

fn merge_maps(place: Place, object: &mut Fields, mut patch: Fields) -> Result<(), StrategicError> {
    match take_directive(&mut patch)? {
        Directive::Merge => {}
        Directive::Replace => {
            *object = fresh_fields(patch);
            return Ok(());
        }
        Directive::Delete => {
            object.clear();
            return Ok(());
        }
    }
    retain_keys(object, &mut patch)?;
    order_lists(place, object, &mut patch)?;
    for (name, value) in patch {
        if name.starts_with(DELETE_FROM_LIST) {
            let field = field_of(&name, DELETE_FROM_LIST).ok_or(StrategicError::DeleteList)?;
            lists::delete_values(object, field, &value)?;
        } else {
            merge_field(place, object, &name, value)?;
        }
    }
    Ok(())
}

/// The field name after a directive's slash.
fn field_of<'n>(name: &'n str, directive: &str) -> Option<&'n str> {
    name.strip_prefix(directive)?.strip_prefix('/')
}

fn merge_field(
    place: Place,
    object: &mut Fields,
    name: &str,
    value: Value,
) -> Result<(), StrategicError> {
    let meta = place.field(name);
    match (object.get_mut(name), value) {
        (_, Value::Null) => drop(object.remove(name)),
        (Some(Value::Object(inner)), Value::Object(patch)) => {
            if meta.strategy == Strategy::Replace {
                *inner = fresh_fields(patch);
            } else {
                merge_maps(meta.inside, inner, patch)?;
            }
        }
        (Some(Value::Array(elements)), Value::Array(patch)) => {
            *elements = merge_elements(&meta, std::mem::take(elements), patch)?;
        }
        (_, value) => match fresh(value) {
            Some(value) => drop(object.insert(name.to_owned(), value)),
            None => drop(object.remove(name)),
        },
    }
    Ok(())
}

fn merge_elements(
    meta: &PatchMeta,
    elements: Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, StrategicError> {
    if meta.strategy == Strategy::Merge {
        lists::merge(meta, elements, patch)
    } else {
        Ok(patch.into_iter().filter_map(fresh).collect())
    }
}

/// `$retainKeys`: removes unlisted fields from the object; the patch may set listed fields only.
fn retain_keys(object: &mut Fields, patch: &mut Fields) -> Result<(), StrategicError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let keys = keys.as_array().ok_or(StrategicError::RetainKeys)?;
    let keys: std::collections::BTreeSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let mut set = patch
        .iter()
        .filter(|(name, value)| !value.is_null() && !name.starts_with('$'));
    if set.any(|(name, _)| !keys.contains(name.as_str())) {
        return Err(StrategicError::RetainKeys);
    }
    object.retain(|name, _| keys.contains(name.as_str()));
    Ok(())
}

/// `$setElementOrder/FIELD`: merges each list that has an order, then sorts it.
fn order_lists(
    place: Place,
    object: &mut Fields,
    patch: &mut Fields,
) -> Result<(), StrategicError> {
    let directives = patch.keys().filter(|name| name.starts_with(ELEMENT_ORDER));
    let directives: Vec<String> = directives.cloned().collect();
    for directive in directives {
        let Some(Value::Array(order)) = patch.remove(&directive) else {
            return Err(StrategicError::ElementOrder);
        };
        let field = field_of(&directive, ELEMENT_ORDER).ok_or(StrategicError::ElementOrder)?;
        let meta = place.field(field);
        let changes = match patch.remove(field) {
            None => None,
            Some(Value::Array(changes)) => Some(changes),
            Some(_) => return Err(StrategicError::ElementOrder),
        };
        if let Some(changes) = &changes {
            lists::check_order(changes, &order, meta.merge_key)?;
        }
        let present = match object.get(field) {
            None => None,
            Some(Value::Array(elements)) => Some(elements.clone()),
            Some(_) => return Err(StrategicError::ElementOrder),
        };
        let merged = match (&present, changes) {
            (None, None) => continue,
            (Some(present), None) => present.clone(),
            (None, Some(changes)) => changes.into_iter().filter_map(fresh).collect(),
            (Some(present), Some(changes)) => merge_elements(&meta, present.clone(), changes)?,
        };
        let present = present.unwrap_or_default();
        let ordered = lists::ordered(merged, &order, &present, meta.merge_key)?;
        object.insert(field.to_owned(), ordered.into());
    }
    Ok(())
}

/// Prepares a value that has no counterpart in the object: strips nulls and directives. None if it carries `$patch:
/// delete`.
fn fresh(value: Value) -> Option<Value> {
    Some(match value {
        Value::Object(fields) if fields.get(PATCH).is_some_and(|word| word == "delete") => {
            return None;
        }
        Value::Object(fields) => Value::Object(fresh_fields(fields)),
        Value::Array(elements) => elements.into_iter().filter_map(fresh).collect(),
        scalar => scalar,
    })
}

fn fresh_fields(fields: Fields) -> Fields {
    let is_directive = |name: &str| {
        name == PATCH
            || name == RETAIN_KEYS
            || name.starts_with(ELEMENT_ORDER)
            || name.starts_with(DELETE_FROM_LIST)
    };
    let kept = fields
        .into_iter()
        .filter(|(name, value)| !value.is_null() && !is_directive(name));
    kept.filter_map(|(name, value)| Some((name, fresh(value)?)))
        .collect()
}
