//! Evaluation of list, map and object literals.

use super::Machine;
use crate::cost;
use crate::dialect::Profile;
use crate::plan::{FieldPart, ListPart, MapPart, Step};
use crate::value::{Arena, BuiltMap, Eval, Fault, List, Map, Object, Value, equal, key_order};
use std::cmp::Ordering;

impl<'a> Machine<'a, '_, '_> {
    /// A part of a literal: nothing when it is an empty optional.
    fn part(&mut self, step: Step, optional: bool) -> Result<Option<Value<'a>>, Fault<'a>> {
        match self.step(step)? {
            Value::Optional(inner) if optional => Ok(inner.copied()),
            _ if optional => Err(Fault::Fixed(
                "cannot initialize optional entry from non-optional value",
            )),
            value => Ok(Some(value)),
        }
    }

    #[inline(never)]
    pub(super) fn list(&mut self, parts: &'a [ListPart]) -> Eval<'a> {
        self.budget.charge(cost::LIST)?;
        let mut values = self.arena().vec_with(parts.len());
        for part in parts {
            values.extend(self.part(part.value, part.optional)?);
        }
        Ok(Value::List(List::Built(values.into_bump_slice())))
    }

    #[inline(never)]
    pub(super) fn map(&mut self, parts: &'a [MapPart]) -> Eval<'a> {
        self.budget.charge(cost::MAP)?;
        let mut entries = self.arena().vec_with(parts.len());
        let mut omitted = self.arena().vec();
        for part in parts {
            let key = self.step(part.key)?;
            match self.part(part.value, part.optional)? {
                Some(value) => entries.push((key, value)),
                None => omitted.push(key),
            }
        }
        build_map(
            self.arena(),
            &mut entries,
            omitted.into_bump_slice(),
            self.plan.profile,
        )
    }

    #[inline(never)]
    pub(super) fn object(&mut self, name: &'a str, parts: &'a [FieldPart]) -> Eval<'a> {
        self.budget.charge(cost::OBJECT)?;
        let mut fields: bumpalo::collections::Vec<'a, (&'a str, Value<'a>)> =
            self.arena().vec_with(parts.len());
        let mut omitted = self.arena().vec();
        for part in parts {
            match self.part(part.value, part.optional)? {
                Some(value) => {
                    fields.retain(|(field, _)| *field != &*part.name);
                    fields.push((&*part.name, value));
                }
                None => omitted.push(&*part.name),
            }
        }
        fields.sort_unstable_by_key(|(field, _)| *field);
        let object = Object {
            type_name: name,
            fields: fields.into_bump_slice(),
            omitted: omitted.into_bump_slice(),
            is_removal: false,
        };
        Ok(Value::Object(self.arena().put(object)))
    }
}

/// Sorts entries into a map. A repeated key is an error in the specification, the last wins in Kubernetes.
pub(crate) fn build_map<'a>(
    arena: &'a Arena,
    entries: &mut [(Value<'a>, Value<'a>)],
    omitted: &'a [Value<'a>],
    profile: Profile,
) -> Eval<'a> {
    let plain = |key: &Value<'_>| {
        matches!(
            key,
            Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::String(_)
        )
    };
    if profile == Profile::Spec && !entries.iter().all(|(key, _)| plain(key)) {
        return Err(Fault::Fixed("unsupported key type"));
    }
    entries.sort_by(|(left, _), (right, _)| {
        key_order(left, right).unwrap_or_else(|| rank(left).cmp(&rank(right)))
    });
    let mut kept = arena.vec_with(entries.len());
    for (index, entry) in entries.iter().enumerate() {
        let repeated = match rank(&entry.0) {
            0 => entries
                .get(index + 1)
                .is_some_and(|next| equal(&entry.0, &next.0)),
            _ => entries[index + 1..]
                .iter()
                .any(|next| equal(&entry.0, &next.0)),
        };
        if !repeated {
            kept.push(*entry);
        } else if profile == Profile::Spec {
            return Err(Fault::Fixed("Failed with repeated key"));
        }
    }
    let map = BuiltMap {
        entries: kept.into_bump_slice(),
        omitted,
    };
    Ok(Value::Map(Map::Built(arena.put(map))))
}

/// Sort rank of a key; unordered keys come last, in source order.
fn rank(key: &Value<'_>) -> u8 {
    u8::from(key_order(key, key) != Some(Ordering::Equal))
}
