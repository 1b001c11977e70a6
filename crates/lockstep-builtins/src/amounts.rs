//! Resource quantities by name, and their totals for a pod.

use std::collections::BTreeMap;

use lockstep_gotext::quantity::Quantity;
use lockstep_object::Value;

use crate::look::{entries, list, text};

/// Number of pods, as a name of a resource quantity.
pub(crate) const PODS: &str = "pods";

/// Quantities by resource name.
pub(crate) type Amounts = BTreeMap<String, Quantity>;

/// The amount in a text; nothing if it is none.
pub(crate) fn amount(value: &Value) -> Quantity {
    let text = value.as_str().unwrap_or_default();
    Quantity::parse(text).unwrap_or_else(|_| Quantity::from_int(0))
}

/// So many.
pub(crate) fn whole(count: i64) -> Quantity {
    Quantity::parse(&count.to_string()).unwrap_or_else(|_| Quantity::from_int(count))
}

/// The amounts in a field.
pub(crate) fn read(parent: &Value, field: &str) -> Amounts {
    let entries = entries(parent, field);
    entries
        .map(|(name, value)| (name.to_owned(), amount(value)))
        .collect()
}

/// Adds to what is there.
pub(crate) fn add(sums: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = sums.get(name).and_then(|sum| sum.add(amount).ok());
        sums.insert(name.clone(), sum.unwrap_or_else(|| amount.clone()));
    }
}

/// Takes the larger of both.
pub(crate) fn raise(amounts: &mut Amounts, others: Amounts) {
    for (name, amount) in others {
        if amounts.get(&name).is_none_or(|own| *own < amount) {
            amounts.insert(name, amount);
        }
    }
}

/// True for a sidecar: an init container with `restartPolicy: Always`.
pub(crate) fn is_sidecar(container: &Value) -> bool {
    text(container, "restartPolicy") == "Always"
}

/// Peak usage of a pod's containers as `of` reports it: init containers run before the others, sidecars alongside them.
/// Pod-level resources take precedence.
pub(crate) fn of_pod(spec: &Value, field: &str, of: &dyn Fn(&Value) -> Amounts) -> Amounts {
    let mut all = Amounts::new();
    for container in list(spec, "containers") {
        add(&mut all, &of(container));
    }
    let (mut sidecars, mut at_start) = (Amounts::new(), Amounts::new());
    for container in list(spec, "initContainers") {
        let own = of(container);
        let mut now = sidecars.clone();
        add(&mut now, &own);
        if is_sidecar(container) {
            add(&mut all, &own);
            sidecars.clone_from(&now);
        }
        raise(&mut at_start, now);
    }
    raise(&mut all, at_start);
    all.extend(read(&spec["resources"], field));
    all
}
