//! Identity of list items: by key fields or by value.

use lockstep_object::go::quote;
use serde_json::Value;

use super::TypeErrors;
use crate::fields::{Datum, Element};
use crate::types::{Key, List, Relation};

impl List {
    /// The path element that identifies an item.
    pub(crate) fn element(&self, item: &Value) -> Result<Element, String> {
        match &self.relation {
            Relation::Keys(keys) => by_keys(keys, item),
            Relation::Set | Relation::Atomic => by_value(item),
        }
    }

    /// Pairs each item with its path element.
    pub(super) fn elements<'v>(
        &self,
        items: &'v [Value],
    ) -> Result<Vec<(Element, &'v Value)>, TypeErrors> {
        let elements = items.iter().enumerate().map(|(index, item)| {
            let element = self.element(item);
            let element = element.map_err(|problem| TypeErrors::of_element(index, &problem))?;
            Ok((element, item))
        });
        elements.collect()
    }

    pub(super) fn is_atomic(&self) -> bool {
        self.relation == Relation::Atomic
    }
}

fn by_keys(keys: &[Key], item: &Value) -> Result<Element, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => {
            return Err("associative list with keys may not have a null element".to_owned());
        }
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let found = keys.iter().filter_map(|key| {
        let value = fields.get(&*key.name).or(key.default.as_ref())?;
        Some((key.name.clone(), Datum(value.clone())))
    });
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        let names: Vec<String> = keys.iter().map(|key| quote(&key.name)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values \
             for any key fields)",
            names.join(" ")
        ));
    }
    Ok(Element::keys(found))
}

fn by_value(item: &Value) -> Result<Element, String> {
    let problem = match item {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        scalar => return Ok(Element::Value(Datum(scalar.clone()))),
    };
    Err(problem.to_owned())
}
