//! Merge of an applied configuration into a live value.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Duplicates, TypeErrors};
use crate::fields::Element;
use crate::types::{Fields, Form, List, Type};

impl Type<'_> {
    /// Merges `wanted` into `live`; members that only `live` has stay.
    ///
    /// Items of associative lists and sets take the order of `wanted`. Items that only `live` has keep their relative
    /// position: they precede the next item that both lists have, or come last.
    pub fn merge(self, live: &Value, wanted: &Value) -> Result<Value, TypeErrors> {
        self.validate(wanted, Duplicates::Refused)?;
        self.merge_valid(live, wanted)
    }

    /// Form of [`merge`](Self::merge) for a `wanted` value that was validated before.
    pub(crate) fn merge_valid(self, live: &Value, wanted: &Value) -> Result<Value, TypeErrors> {
        let merged = self.merged(Some(live.clone()), wanted)?;
        Ok(merged.unwrap_or_default())
    }

    fn merged(self, live: Option<Value>, wanted: &Value) -> Result<Option<Value>, TypeErrors> {
        match (self.form(Some(wanted)), wanted) {
            (Form::Map(fields), Value::Object(_) | Value::Null) if !fields.is_atomic => {
                let wishes = wanted.as_object();
                match live {
                    Some(Value::Object(live)) if !live.is_empty() => {
                        self.merged_map(fields, live, wishes)
                    }
                    _ if wishes.is_none_or(Map::is_empty) => Ok(Some(wanted.clone())),
                    _ => self.merged_map(fields, Map::new(), wishes),
                }
            }
            (Form::List(list), Value::Array(_) | Value::Null) if !list.is_atomic() => {
                let wishes = wanted.as_array().map_or(&[][..], Vec::as_slice);
                match live {
                    Some(Value::Array(live)) if !live.is_empty() => {
                        self.merged_list(list, live, wishes)
                    }
                    _ if wishes.is_empty() => Ok(Some(wanted.clone())),
                    _ => self.merged_list(list, Vec::new(), wishes),
                }
            }
            _ => Ok(Some(wanted.clone())),
        }
    }

    fn merged_map(
        self,
        fields: &Fields,
        mut live: Map<String, Value>,
        wanted: Option<&Map<String, Value>>,
    ) -> Result<Option<Value>, TypeErrors> {
        for (name, wish) in wanted.into_iter().flatten() {
            let field = self.field_or_anything(fields, name);
            let made = field.merged(live.remove(name), wish);
            if let Some(value) = made.map_err(|errors| errors.below(&Element::field(name)))? {
                live.insert(name.clone(), value);
            }
        }
        Ok((!live.is_empty()).then_some(Value::Object(live)))
    }

    fn merged_list(
        self,
        list: &List,
        live: Vec<Value>,
        wanted: &[Value],
    ) -> Result<Option<Value>, TypeErrors> {
        let wanted = list.elements(wanted)?;
        if wanted.is_empty() {
            return Ok(Some(live.into()));
        }
        let elements = list.elements(&live)?;
        let elements: Vec<Element> = elements.into_iter().map(|(element, _)| element).collect();
        let wishes: BTreeSet<&Element> = wanted.iter().map(|(element, _)| element).collect();
        // Items in both lists. Null marks a duplicated live item: the wanted item replaces all copies.
        let mut shared: BTreeMap<&Element, Value> = BTreeMap::new();
        let mut rest = Vec::with_capacity(live.len());
        for (element, item) in elements.iter().zip(live) {
            if !wishes.contains(element) {
                rest.push((element, Some(item)));
                continue;
            }
            rest.push((element, None));
            match shared.entry(element) {
                Entry::Vacant(place) => drop(place.insert(item)),
                Entry::Occupied(mut place) => drop(place.insert(Value::Null)),
            }
        }
        let order = wanted.iter().map(|(element, _)| element);
        let order: Vec<&Element> = order.filter(|e| shared.contains_key(e)).collect();
        let mut order = order.into_iter().peekable();
        let mut rest = rest.into_iter().peekable();
        let mut merged = Vec::with_capacity(elements.len() + wanted.len());
        for (element, wish) in &wanted {
            // Live-only items come first, up to the next item that both lists have. Items that moved are skipped here.
            while let Some((_, item)) = rest.next_if(|(next, _)| Some(next) != order.peek()) {
                merged.extend(item);
            }
            if order.next_if_eq(&element).is_some() {
                rest.next_if(|(next, _)| *next == element);
            }
            let made = self.items(list).merged(shared.remove(element), wish);
            merged.extend(made.map_err(|errors| errors.below(element))?);
        }
        merged.extend(rest.filter_map(|(_, item)| item));
        Ok((!merged.is_empty()).then_some(merged.into()))
    }
}
