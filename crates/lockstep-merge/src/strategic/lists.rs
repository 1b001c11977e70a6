//! Merging of lists, by merge key or as sets of values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::patch_meta::PatchMeta;
use super::{Directive, StrategicError, fresh, merge_maps, take_directive};

/// Identity of an element (its merge key or the whole value) as JSON text.
type Identity = String;

/// Merges the elements of a patch into a list.
pub(super) fn merge(
    meta: &PatchMeta,
    elements: Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, StrategicError> {
    check_types(elements.iter().chain(&patch))?;
    let are_maps = elements.iter().chain(&patch).any(Value::is_object);
    match meta.merge_key {
        Some(key) if are_maps => merge_by_key(meta, elements, patch, key),
        None if are_maps => Ok(patch.into_iter().filter_map(fresh).collect()),
        _ => {
            let mut seen = BTreeSet::new();
            let all = elements.iter().chain(&patch);
            let merged = all.filter(|value| seen.insert(value.to_string()));
            ordered(merged.cloned().collect(), &patch, &elements, None)
        }
    }
}

fn check_types<'v>(
    mut elements: impl Iterator<Item = &'v Value> + Clone,
) -> Result<(), StrategicError> {
    let all = elements.clone();
    let Some(first) = elements.next() else {
        return Ok(());
    };
    let kind = std::mem::discriminant(first);
    let is_bad = first.is_null() || first.is_array();
    if is_bad || elements.any(|element| std::mem::discriminant(element) != kind) {
        let texts: Vec<Value> = all.cloned().collect();
        return Err(StrategicError::Elements(Value::from(texts).to_string()));
    }
    Ok(())
}

fn merge_by_key(
    meta: &PatchMeta,
    present: Vec<Value>,
    patch: Vec<Value>,
    key: &'static str,
) -> Result<Vec<Value>, StrategicError> {
    let Changes {
        deleted,
        set,
        is_replacing,
    } = read_changes(patch, key)?;
    if is_replacing {
        return Ok(set
            .into_iter()
            .filter_map(|fields| fresh(Value::Object(fields)))
            .collect());
    }
    let mut merged = Vec::with_capacity(present.len() + set.len());
    for element in present {
        let gone = element.get(key).map(Value::to_string);
        if gone.is_none_or(|identity| !deleted.contains(&identity)) {
            merged.push(element);
        }
    }
    let server_order = merged.clone();
    let mut places: BTreeMap<Identity, usize> = BTreeMap::new();
    for (at, element) in merged.iter().enumerate() {
        if let Some(value) = element.get(key) {
            places.entry(value.to_string()).or_insert(at);
        }
    }
    let order: Vec<Value> = set.iter().cloned().map(Value::Object).collect();
    for fields in set {
        let Some(value) = fields.get(key) else {
            return Err(StrategicError::no_merge_key(&Value::Object(fields), key));
        };
        let identity = value.to_string();
        match places.get(&identity) {
            Some(&at) => {
                if let Value::Object(element) = &mut merged[at] {
                    merge_maps(meta.inside, element, fields)?;
                }
            }
            None => {
                places.insert(identity, merged.len());
                merged.extend(fresh(Value::Object(fields)));
            }
        }
    }
    ordered(merged, &order, &server_order, Some(key))
}

/// The directives and elements of a list patch.
struct Changes {
    deleted: BTreeSet<Identity>,
    set: Vec<Map<String, Value>>,
    is_replacing: bool,
}

fn read_changes(patch: Vec<Value>, key: &'static str) -> Result<Changes, StrategicError> {
    let mut changes = Changes {
        deleted: BTreeSet::new(),
        set: Vec::new(),
        is_replacing: false,
    };
    for element in patch {
        let Value::Object(mut fields) = element else {
            return Err(StrategicError::no_merge_key(&element, key));
        };
        match take_directive(&mut fields)? {
            Directive::Merge => changes.set.push(fields),
            Directive::Replace => changes.is_replacing = true,
            Directive::Delete => match fields.get(key) {
                Some(value) => drop(changes.deleted.insert(value.to_string())),
                None => return Err(StrategicError::no_merge_key(&Value::Object(fields), key)),
            },
        }
    }
    Ok(changes)
}

/// Orders a merged list: elements in `order` keep that order, the others keep the server's order, and the two sequences
/// are interleaved by the server's order where it contains both elements.
pub(super) fn ordered(
    merged: Vec<Value>,
    order: &[Value],
    server: &[Value],
    key: Option<&'static str>,
) -> Result<Vec<Value>, StrategicError> {
    let (order, server) = (ranks(order, key)?, ranks(server, key)?);
    let mut asked = Vec::new();
    let mut others = Vec::new();
    for element in merged {
        let identity = identity(&element, key)?;
        let in_server = server.get(&identity).copied();
        match order.get(&identity) {
            Some(&rank) => asked.push((rank, in_server, element)),
            None => others.push((in_server.unwrap_or(usize::MAX), in_server, element)),
        }
    }
    asked.sort_by_key(|(rank, ..)| *rank);
    others.sort_by_key(|(rank, ..)| *rank);
    let (mut asked, mut others) = (asked.into_iter().peekable(), others.into_iter().peekable());
    let mut all = Vec::with_capacity(asked.len() + others.len());
    loop {
        let other_is_next = match (others.peek(), asked.peek()) {
            (None, None) => return Ok(all),
            (Some(_), None) => true,
            (Some((_, Some(other), _)), Some((_, Some(asked), _))) => other < asked,
            (_, Some(_)) => false,
        };
        let next = if other_is_next {
            others.next()
        } else {
            asked.next()
        };
        all.extend(next.map(|(_, _, element)| element));
    }
}

fn ranks(
    elements: &[Value],
    key: Option<&'static str>,
) -> Result<BTreeMap<Identity, usize>, StrategicError> {
    let mut ranks = BTreeMap::new();
    for (rank, element) in elements.iter().enumerate() {
        ranks.entry(identity(element, key)?).or_insert(rank);
    }
    Ok(ranks)
}

fn identity(element: &Value, key: Option<&'static str>) -> Result<Identity, StrategicError> {
    match key {
        Some(key) => match element.get(key) {
            Some(value) => Ok(value.to_string()),
            None => Err(StrategicError::no_merge_key(element, key)),
        },
        None => Ok(element.to_string()),
    }
}

/// Rejects a `$setElementOrder` list that lacks elements of the patch or orders them differently.
pub(super) fn check_order(
    patch: &[Value],
    order: &[Value],
    key: Option<&'static str>,
) -> Result<(), StrategicError> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut ordered = order.iter();
    for element in patch {
        let is_directive = element.get(super::PATCH).is_some();
        if is_directive {
            continue;
        }
        let wanted = identity(element, key)?;
        let mut found = false;
        for candidate in ordered.by_ref() {
            if identity(candidate, key)? == wanted {
                found = true;
                break;
            }
        }
        if !found {
            return Err(StrategicError::OrderMismatch {
                patch: Value::from(patch.to_vec()).to_string(),
                order: Value::from(order.to_vec()).to_string(),
            });
        }
    }
    Ok(())
}

/// Applies `$deleteFromPrimitiveList/FIELD`.
pub(super) fn delete_values(
    object: &mut Map<String, Value>,
    field: &str,
    values: &Value,
) -> Result<(), StrategicError> {
    let values = values.as_array().ok_or(StrategicError::DeleteList)?;
    let gone: BTreeSet<Identity> = values.iter().map(Value::to_string).collect();
    if let Some(Value::Array(elements)) = object.get_mut(field) {
        elements.retain(|element| !gone.contains(&element.to_string()));
    }
    Ok(())
}
