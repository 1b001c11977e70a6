//! Pod `QoS` classes.

use std::collections::BTreeMap;

use lockstep_gotext::quantity::Quantity;
use lockstep_object::Value;

use crate::look::{entries, list};

/// The class of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QosClass {
    /// Everything it may use is set aside for it.
    Guaranteed,
    /// Something is.
    Burstable,
    /// Nothing is.
    BestEffort,
}

impl QosClass {
    /// As the status of a pod has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        }
    }
}

/// Resources that determine the `QoS` class.
const COUNTED: [&str; 2] = ["cpu", "memory"];

/// The class that follows from the resources of the containers, or of the pod if it has any.
pub fn class(spec: &Value) -> QosClass {
    let own = spec.get("resources").filter(|own| own.is_object());
    let all: Vec<&Value> = match own {
        Some(own) => vec![own],
        None => ["initContainers", "containers"]
            .into_iter()
            .flat_map(|field| list(spec, field))
            .filter_map(|container| container.get("resources"))
            .collect(),
    };
    let (mut requests, mut limits) = (Amounts::new(), Amounts::new());
    let mut is_limited = true;
    for resources in all {
        add(&mut requests, resources, "requests");
        let limited = add(&mut limits, resources, "limits");
        is_limited &= COUNTED.iter().all(|name| limited.contains(name));
    }
    if requests.is_empty() && limits.is_empty() {
        return QosClass::BestEffort;
    }
    let is_equal = requests
        .iter()
        .all(|(name, amount)| limits.get(name).is_some_and(|limit| limit == amount));
    if is_limited && is_equal && requests.len() == limits.len() {
        QosClass::Guaranteed
    } else {
        QosClass::Burstable
    }
}

type Amounts<'v> = BTreeMap<&'v str, Quantity>;

/// Adds the relevant resources and returns their names.
fn add<'v>(sums: &mut Amounts<'v>, resources: &'v Value, field: &str) -> Vec<&'v str> {
    let mut counted = Vec::new();
    for (name, amount) in entries(resources, field) {
        let amount = Quantity::parse(amount.as_str().unwrap_or_default());
        let Some(amount) = amount.ok().filter(|amount| amount.sign() > 0) else {
            continue;
        };
        if COUNTED.contains(&name) {
            counted.push(name);
            let sum = match sums.remove(name) {
                Some(sum) => sum.add(&amount).unwrap_or(amount),
                None => amount,
            };
            sums.insert(name, sum);
        }
    }
    counted
}
