//! Quota usage of services.

use lockstep_object::Value;

use crate::amounts::{self, Amounts};
use crate::look::{list, text};

const SERVICES: &str = "services";
const NODE_PORTS: &str = "services.nodeports";
const LOAD_BALANCERS: &str = "services.loadbalancers";

pub(super) fn use_some(name: &str) -> bool {
    [SERVICES, NODE_PORTS, LOAD_BALANCERS].contains(&name)
}

/// A service is charged for node ports before they are allocated.
pub(super) fn uses(service: &Value) -> Amounts {
    let spec = &service["spec"];
    let ports = list(spec, "ports");
    let given = |port: &&Value| port["nodePort"].as_i64().is_some_and(|port| port != 0);
    let (balancers, ports) = match text(spec, "type") {
        "NodePort" => (0, ports.len()),
        "LoadBalancer" if spec["allocateLoadBalancerNodePorts"] == false => {
            (1, ports.iter().filter(given).count())
        }
        "LoadBalancer" => (1, ports.len()),
        _ => (0, 0),
    };
    let ports = i64::try_from(ports).unwrap_or(i64::MAX);
    let rows = [
        (SERVICES, 1),
        (LOAD_BALANCERS, balancers),
        (NODE_PORTS, ports),
    ];
    rows.map(|(name, count)| (name.to_owned(), amounts::whole(count)))
        .into()
}
