//! Table columns of network resources.

use std::collections::BTreeSet;

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};

use super::{NONE, SHOWN_MAX, Table, UNSET, at, first_few, labels, list, or, selector, show, text};
use crate::Column;

/// The maximum length of load balancer addresses in a cell, as upstream.
const ADDRESSES_CHARS_MAX: usize = 16;

pub(super) fn tables() -> Vec<Table> {
    vec![
        (("", "services"), services()),
        (("", "endpoints"), endpoints()),
        (("discovery.k8s.io", "endpointslices"), slices()),
        (("networking.k8s.io", "ingresses"), ingresses()),
        (("networking.k8s.io", "ingressclasses"), ingress_classes()),
        (
            ("networking.k8s.io", "servicecidrs"),
            vec![
                Column::name(),
                show("CIDRs", "The networks of the range.", |o, _| {
                    let networks = list(o, &["spec", "cidrs"]).iter();
                    let networks: Vec<&str> = networks.filter_map(Value::as_str).collect();
                    networks.join(",").into()
                }),
                Column::age(),
            ],
        ),
        (
            ("networking.k8s.io", "ipaddresses"),
            vec![
                Column::name(),
                show("ParentRef", "Who has the address.", parent),
            ],
        ),
        (
            ("networking.k8s.io", "networkpolicies"),
            vec![
                Column::name(),
                show("Pod-Selector", "Which pods it is about.", |o, _| {
                    selector(at(o, &["spec", "podSelector"])).into()
                }),
                Column::age(),
            ],
        ),
    ]
}

fn parent(address: &Object, _now: Seconds) -> Value {
    let part = |field: &str| text(address, &["spec", "parentRef", field]);
    let (group, resource) = (part("group"), part("resource"));
    let resource = match group {
        "" => resource.to_owned(),
        group => format!("{resource}.{group}"),
    };
    let parts = [&*resource, part("namespace"), part("name")];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("/").into()
}

fn services() -> Vec<Column> {
    vec![
        Column::name(),
        show("Type", "Who can reach it.", |o, _| {
            text(o, &["spec", "type"]).into()
        }),
        show("Cluster-IP", "Its address in the cluster.", |o, _| {
            let first = list(o, &["spec", "clusterIPs"]).first();
            or(first.and_then(Value::as_str).unwrap_or_default(), NONE)
        }),
        show("External-IP", "Its address outside.", external),
        show(
            "Port(s)",
            "Its ports, and those of nodes that lead to them.",
            ports,
        ),
        Column::age(),
        show("Selector", "Which pods it leads to.", |o, _| {
            labels(at(o, &["spec", "selector"])).into()
        })
        .wide(),
    ]
}

fn external(service: &Object, _now: Seconds) -> Value {
    let own = list(service, &["spec", "externalIPs"]).iter();
    let own: Vec<String> = own
        .filter_map(|ip| ip.as_str().map(str::to_owned))
        .collect();
    match text(service, &["spec", "type"]) {
        "ClusterIP" | "NodePort" => or(&own.join(","), NONE),
        "LoadBalancer" => {
            let given = balancer(service);
            let all = std::iter::once(given)
                .filter(|ips| !ips.is_empty())
                .chain(own);
            or(&all.collect::<Vec<_>>().join(","), "<pending>")
        }
        "ExternalName" => text(service, &["spec", "externalName"]).into(),
        _ => "<unknown>".into(),
    }
}

/// The addresses of a load balancer, truncated.
fn balancer(object: &Object) -> String {
    let all = list(object, &["status", "loadBalancer", "ingress"]).iter();
    let all: BTreeSet<&str> = all
        .filter_map(|place| {
            let part = |field: &str| place[field].as_str().filter(|text| !text.is_empty());
            part("ip").or_else(|| part("hostname"))
        })
        .collect();
    let text = all.into_iter().collect::<Vec<_>>().join(",");
    if text.chars().count() > ADDRESSES_CHARS_MAX {
        let start: String = text.chars().take(ADDRESSES_CHARS_MAX - 3).collect();
        return format!("{start}...");
    }
    text
}

fn ports(service: &Object, _now: Seconds) -> Value {
    let pieces = list(service, &["spec", "ports"]).iter().map(|port| {
        let number = |field: &str| port[field].as_i64().unwrap_or_default();
        let protocol = port["protocol"].as_str().unwrap_or_default();
        match number("nodePort") {
            0 => format!("{}/{protocol}", number("port")),
            node => format!("{}:{node}/{protocol}", number("port")),
        }
    });
    or(&pieces.collect::<Vec<_>>().join(","), NONE)
}

fn endpoints() -> Vec<Column> {
    let told = |endpoints: &Object, _: Seconds| {
        let mut all = Vec::new();
        for subset in list(endpoints, &["subsets"]) {
            let items = |field: &str| subset[field].as_array().cloned().unwrap_or_default();
            let ips = items("addresses");
            let ips = ips.iter().filter_map(|address| address["ip"].as_str());
            let ips: Vec<&str> = ips.collect();
            let ports = items("ports");
            if ports.is_empty() {
                all.extend(ips.iter().map(|&ip| ip.to_owned()));
            }
            for port in &ports {
                let port = port["port"].as_i64().unwrap_or_default();
                let join = |ip: &&str| {
                    if ip.contains(':') {
                        format!("[{ip}]:{port}")
                    } else {
                        format!("{ip}:{port}")
                    }
                };
                all.extend(ips.iter().map(join));
            }
        }
        if list(endpoints, &["subsets"]).is_empty() {
            return NONE.into();
        }
        if all.is_empty() {
            return "".into();
        }
        first_few(&all, SHOWN_MAX, ",").into()
    };
    vec![
        Column::name(),
        show("Endpoints", "Where the service leads.", told),
        Column::age(),
    ]
}

fn slices() -> Vec<Column> {
    let ports = |slice: &Object, _: Seconds| {
        let all = list(slice, &["ports"]).iter().map(|port| {
            let number = port["port"].as_i64().map(|port| port.to_string());
            let name = port["name"].as_str().map(str::to_owned);
            number.or(name).unwrap_or_else(|| "*".to_owned())
        });
        first_few(&all.collect::<Vec<_>>(), SHOWN_MAX, ",").into()
    };
    let addresses = |slice: &Object, _: Seconds| {
        let all = list(slice, &["endpoints"]).iter();
        let all = all.filter_map(|endpoint| endpoint["addresses"].as_array());
        let all = all
            .flatten()
            .filter_map(|ip| ip.as_str().map(str::to_owned));
        first_few(&all.collect::<Vec<_>>(), SHOWN_MAX, ",").into()
    };
    vec![
        Column::name(),
        show("AddressType", "What its addresses are.", |o, _| {
            text(o, &["addressType"]).into()
        }),
        show("Ports", "Its ports.", ports),
        show("Endpoints", "Where the service leads.", addresses),
        Column::age(),
    ]
}

fn ingresses() -> Vec<Column> {
    let hosts = |ingress: &Object, _: Seconds| {
        let rules = list(ingress, &["spec", "rules"]);
        let all = rules.iter().filter_map(|rule| rule["host"].as_str());
        let all: Vec<&str> = all.filter(|host| !host.is_empty()).collect();
        let shown = all[..all.len().min(SHOWN_MAX)].join(",");
        match all.len() {
            0 => "*".into(),
            count if count > SHOWN_MAX => {
                format!("{shown} + {} more...", rules.len() - SHOWN_MAX).into()
            }
            _ => shown.into(),
        }
    };
    vec![
        Column::name(),
        show("Class", "Who acts upon it.", |o, _| {
            or(text(o, &["spec", "ingressClassName"]), NONE)
        }),
        show("Hosts", "The hosts it is about.", hosts),
        show("Address", "Where it can be reached.", |o, _| {
            balancer(o).into()
        }),
        show("Ports", "The ports it listens on.", |o, _| {
            if list(o, &["spec", "tls"]).is_empty() {
                "80".into()
            } else {
                "80, 443".into()
            }
        }),
        Column::age(),
    ]
}

/// The annotation of the default ingress class.
const DEFAULT_INGRESS_CLASS: &str = "ingressclass.kubernetes.io/is-default-class";

fn ingress_classes() -> Vec<Column> {
    let name = |class: &Object, _: Seconds| match class.annotation(DEFAULT_INGRESS_CLASS) {
        Some("true") => format!("{} (default)", class.name()).into(),
        _ => class.name().into(),
    };
    let parameters = |class: &Object, _: Seconds| {
        let part = |field| text(class, &["spec", "parameters", field]);
        match (
            at(class, &["spec", "parameters"]).is_object(),
            part("apiGroup"),
        ) {
            (false, _) => NONE.into(),
            (true, "") => format!("{}/{}", part("kind"), part("name")).into(),
            (true, group) => format!("{}.{group}/{}", part("kind"), part("name")).into(),
        }
    };
    vec![
        Column {
            cell: crate::Cell::Computed(name),
            ..Column::name()
        },
        show(
            "Controller",
            "Who acts upon ingresses of the class.",
            |o, _| or(text(o, &["spec", "controller"]), UNSET),
        ),
        show("Parameters", "What the controller is told.", parameters),
        Column::age(),
    ]
}
