//! Quota usage of resource claims.

use std::collections::BTreeMap;

use lockstep_object::Value;

use crate::amounts::{self, Amounts};
use crate::look::{list, number, text};

/// Suffix after a device class name.
const OF_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
/// Upper bound charged for a request with allocation mode `All`.
const DEVICES_MAX: i64 = 32;

pub(super) fn use_some(name: &str) -> bool {
    name.ends_with(OF_CLASS)
}

/// Of alternatives, whatever would use most of a class.
pub(super) fn uses(claim: &Value) -> Amounts {
    let mut uses = Amounts::new();
    for request in list(&claim["spec"]["devices"], "requests") {
        let alternatives = list(request, "firstAvailable").iter();
        let exactly = request.get("exactly").into_iter();
        let mut most = BTreeMap::new();
        for wanted in alternatives.chain(exactly) {
            let devices = match text(wanted, "allocationMode") {
                "ExactCount" => number(wanted, "count").unwrap_or(0),
                "All" => DEVICES_MAX,
                _ => 0,
            };
            let name = format!("{}{OF_CLASS}", text(wanted, "deviceClassName"));
            let own = most.entry(name).or_insert(0);
            *own = devices.max(*own);
        }
        let most = most.into_iter();
        let most = most.map(|(name, devices)| (name, amounts::whole(devices)));
        amounts::add(&mut uses, &most.collect());
    }
    uses
}
