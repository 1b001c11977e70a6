//! Resource quotas: usage of objects, and enforcement.
//!
//! [`Evaluator`] computes the usage of objects of a resource ([`Counted`]), [`Quota`] has limits and current usage, and
//! [`charge`] adds the usage of a write to the matching quotas or rejects it.
//!
//! A quota takes effect with its write: limits come from `spec`, and usage missing in `status` is counted before
//! anything is charged. Usage in `status` is exact for the quota's revision, because every write that increases it
//! updates the quota in the same transaction.

mod charge;
mod claims;
mod device_claims;
mod evaluator;
mod pods;
mod scopes;
mod services;

use std::collections::BTreeMap;

use lockstep_gotext::quantity::Quantity;
use lockstep_object::{Map, Object, Value};

pub use charge::{Attempt, Charge, charge};
pub use evaluator::{Counted, Evaluator, Write};
use scopes::Selector;

use crate::amounts::{self, Amounts};
use crate::look::{list, map_in, text};

/// A decoded resource quota.
#[derive(Clone, PartialEq, Debug)]
pub struct Quota {
    name: String,
    /// Its limits.
    hard: Amounts,
    /// Current usage.
    used: Amounts,
    selectors: Vec<Selector>,
}

impl Quota {
    /// Reads an object.
    pub fn read(quota: &Value) -> Self {
        let spec = &quota["spec"];
        let hard = amounts::read(spec, "hard");
        let mut used = amounts::read(&quota["status"], "used");
        used.retain(|name, _| hard.contains_key(name));
        Self {
            name: text(&quota["metadata"], "name").to_owned(),
            hard,
            used,
            selectors: Selector::all(spec),
        }
    }

    /// True if the quota limits a resource's usage.
    pub fn limits(&self, evaluator: &Evaluator) -> bool {
        self.limited(evaluator).next().is_some()
    }

    /// True if the usage of a limited resource is not recorded yet.
    pub fn is_uncounted(&self, evaluator: &Evaluator) -> bool {
        self.limited(evaluator)
            .any(|name| !self.used.contains_key(name))
    }

    /// The limited resources that objects of a resource use.
    fn limited<'q>(&'q self, evaluator: &'q Evaluator) -> impl Iterator<Item = &'q str> {
        let names = self.hard.keys().map(String::as_str);
        names.filter(|name| evaluator.measures(name))
    }

    /// True if an object is in the scopes of the quota.
    fn is_about(&self, evaluator: &Evaluator, object: &Counted) -> bool {
        self.limits(evaluator) && self.selects(object)
    }

    fn selects(&self, object: &Counted) -> bool {
        self.selectors.iter().all(|scope| scope.selects(object))
    }

    /// Forgets what was used.
    pub fn forget(&mut self) {
        self.used.clear();
    }

    /// Adds up what is limited of all objects of a resource that there are in the namespace.
    pub fn count<'o>(
        &mut self,
        evaluator: &Evaluator,
        objects: impl IntoIterator<Item = &'o Counted>,
    ) {
        let mut used = std::mem::take(&mut self.used);
        let mut sums: BTreeMap<String, Quantity> = self
            .limited(evaluator)
            .map(|name| {
                let sum = used.remove(name);
                (name.to_owned(), sum.unwrap_or_else(|| amounts::whole(0)))
            })
            .collect();
        let objects = objects.into_iter();
        for object in objects.filter(|object| self.selects(object)) {
            for (name, amount) in &object.uses {
                if let Some(sum) = sums.get_mut(name) {
                    *sum = sum.add(amount).unwrap_or_else(|_| amount.clone());
                }
            }
        }
        used.append(&mut sums);
        self.used = used;
    }

    /// Recounts the usage of a resource from scratch.
    pub fn recount<'o>(
        &mut self,
        evaluator: &Evaluator,
        objects: impl IntoIterator<Item = &'o Counted>,
    ) {
        self.used.retain(|name, _| !evaluator.measures(name));
        self.count(evaluator, objects);
    }

    /// The amounts that the quota limits.
    fn of_limited(&self, all: &Amounts) -> Amounts {
        let limited = all.iter().filter(|(name, _)| self.hard.contains_key(*name));
        limited
            .map(|(name, amount)| (name.clone(), amount.clone()))
            .collect()
    }

    /// Writes limits and usage into the status. Returns true if it changed.
    pub fn write_status(&self, quota: &mut Object) -> bool {
        let hard = quota.at(&["spec", "hard"]).cloned();
        let hard = hard.unwrap_or_else(|| Value::Object(Map::new()));
        let used = shown(&self.used);
        let status = map_in(quota.fields_mut(), "status");
        let before = status.clone();
        for (field, amounts) in [("hard", hard), ("used", used)] {
            put_amounts(status, field, amounts);
        }
        *status != before
    }
}

/// Sets amounts in a field, or omits it if empty: a client's update would drop an empty map.
fn put_amounts(status: &mut Map<String, Value>, field: &str, amounts: Value) {
    if amounts.as_object().is_some_and(Map::is_empty) {
        status.remove(field);
    } else {
        status.insert(field.to_owned(), amounts);
    }
}

/// Amounts as objects show them.
fn shown(amounts: &BTreeMap<String, Quantity>) -> Value {
    let entries = amounts.iter();
    Value::Object(
        entries
            .map(|(name, amount)| (name.clone(), amount.to_string().into()))
            .collect(),
    )
}

/// Removes reported usage if the scope of the quota changed.
pub(crate) fn keep_what_still_counts(quota: &mut Object, old: &Object) {
    let scopes = |quota: &Object| Selector::all(&quota.as_value()["spec"]);
    let has = |quota: &Object, name: &str| quota.at(&["spec", "hard", name]).is_some();
    let is_alike = scopes(quota) == scopes(old);
    let used = amounts::read(&old.as_value()["status"], "used");
    let gone: Vec<String> = used
        .into_keys()
        .filter(|name| !is_alike || !has(quota, name) || !has(old, name))
        .collect();
    if gone.is_empty() || quota.at(&["spec"]) == old.at(&["spec"]) {
        return;
    }
    let used = map_in(map_in(quota.fields_mut(), "status"), "used");
    for name in gone {
        used.remove(&name);
    }
}

/// The texts of a list in a field.
fn texts(parent: &Value, field: &str) -> Vec<String> {
    let texts = list(parent, field).iter().filter_map(Value::as_str);
    texts.map(str::to_owned).collect()
}
