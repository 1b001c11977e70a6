//! What becomes of a value and what somebody wants of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Duplicates, TypeErrors};
use crate::fields::Element;
use crate::types::{Fields, Form, List, Type};

impl Type<'_> {
    /// What is live, with what is wanted: nothing that is not wanted goes.
    ///
    /// Lists whose elements are told apart have them in the order that is wanted; others keep their places, and new
    /// ones come before the next element that both have, or last.
    pub fn merge(self, live: &Value, wanted: &Value) -> Result<Value, TypeErrors> {
        self.validate(wanted, Duplicates::Refused)?;
        self.merge_valid(live, wanted)
    }

    /// The same for what is known to be of the type.
    pub(crate) fn merge_valid(self, live: &Value, wanted: &Value) -> Result<Value, TypeErrors> {
        let merged = self.merged(Some(live), Some(wanted))?;
        Ok(merged.unwrap_or_default())
    }

    fn merged(
        self,
        live: Option<&Value>,
        wanted: Option<&Value>,
    ) -> Result<Option<Value>, TypeErrors> {
        let form = match wanted {
            None => self.form(live),
            Some(_) => self.form(wanted),
        };
        match form {
            Form::Map(fields) => {
                let (below, above) = (entries(live), entries(wanted));
                let is_empty = below.is_none_or(Map::is_empty) && above.is_none_or(Map::is_empty);
                if !fields.is_atomic && !is_empty {
                    return self.merged_map(fields, below, above);
                }
            }
            Form::List(list) => {
                let (below, above) = (items(live), items(wanted));
                let is_empty = below.is_empty() && above.is_empty();
                if !list.is_atomic() && !is_empty {
                    return self.merged_list(list, below, above);
                }
            }
            Form::Scalar(_) => {}
        }
        Ok(wanted.or(live).cloned())
    }

    fn merged_map(
        self,
        fields: &Fields,
        live: Option<&Map<String, Value>>,
        wanted: Option<&Map<String, Value>>,
    ) -> Result<Option<Value>, TypeErrors> {
        let Some(wanted) = wanted.filter(|wanted| !wanted.is_empty()) else {
            return Ok(live.cloned().map(Value::Object));
        };
        let mut merged = live.cloned().unwrap_or_default();
        for (name, wish) in wanted {
            let field = self.field_or_anything(fields, name);
            let made = field.merged(merged.get(name), Some(wish));
            match made.map_err(|errors| errors.below(&Element::field(name)))? {
                Some(value) => drop(merged.insert(name.clone(), value)),
                None => drop(merged.remove(name)),
            }
        }
        Ok((!merged.is_empty()).then_some(Value::Object(merged)))
    }

    fn merged_list(
        self,
        list: &List,
        live: &[Value],
        wanted: &[Value],
    ) -> Result<Option<Value>, TypeErrors> {
        let (live, wanted) = (list.elements(live)?, list.elements(wanted)?);
        if wanted.is_empty() {
            let all: Vec<Value> = live.into_iter().map(|(_, item)| item.clone()).collect();
            return Ok(Some(all.into()));
        }
        let wishes: BTreeSet<&Element> = wanted.iter().map(|(element, _)| element).collect();
        // None for an element that is there twice: what is wanted takes the place of both.
        let mut present: BTreeMap<&Element, Option<&Value>> = BTreeMap::new();
        for (element, item) in &live {
            let known = present.entry(element).or_insert(Some(*item));
            if known.is_some_and(|known| !std::ptr::eq(known, *item)) {
                *known = None;
            }
        }
        let mut shared = wanted
            .iter()
            .map(|(element, _)| element)
            .filter(|element| present.contains_key(element))
            .peekable();
        let mut merged = Vec::with_capacity(live.len() + wanted.len());
        let mut rest = live.iter().peekable();
        for (element, wish) in &wanted {
            // What is live comes first, up to the next element that both have. Elements that are wanted elsewhere
            // are passed over.
            while let Some((next, item)) = rest.next_if(|(next, _)| Some(&next) != shared.peek()) {
                if !wishes.contains(next) {
                    merged.push((*item).clone());
                }
            }
            if shared.next_if_eq(&element).is_some() {
                rest.next_if(|(next, _)| next == element);
            }
            let live = present
                .get(element)
                .map(|item| item.unwrap_or(&Value::Null));
            let made = self.items(list).merged(live, Some(wish));
            merged.extend(made.map_err(|errors| errors.below(element))?);
        }
        let unwanted = rest.filter(|(element, _)| !wishes.contains(element));
        merged.extend(unwanted.map(|(_, item)| (*item).clone()));
        Ok((!merged.is_empty()).then_some(merged.into()))
    }
}

fn entries(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
