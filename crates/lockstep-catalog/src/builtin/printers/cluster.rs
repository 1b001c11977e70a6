//! Table columns of nodes, limits and cluster configuration.

use std::collections::BTreeSet;

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value, table};

use super::{
    Cell, NONE, Table, UNSET, at, condition, count, list, number, or, selector, show, text, truth,
};
use crate::Column;

pub(super) fn tables() -> Vec<Table> {
    const ADMISSION: &str = "admissionregistration.k8s.io";
    const FLOW: &str = "flowcontrol.apiserver.k8s.io";
    vec![
        (("", "nodes"), nodes()),
        (("", "componentstatuses"), components()),
        (
            ("", "limitranges"),
            vec![Column::name(), Column::created_at()],
        ),
        (("", "resourcequotas"), quotas()),
        (("scheduling.k8s.io", "priorityclasses"), priorities()),
        (("node.k8s.io", "runtimeclasses"), runtimes()),
        (
            ("certificates.k8s.io", "certificatesigningrequests"),
            requests(),
        ),
        ((ADMISSION, "mutatingwebhookconfigurations"), webhooks()),
        ((ADMISSION, "validatingwebhookconfigurations"), webhooks()),
        (
            (ADMISSION, "mutatingadmissionpolicies"),
            policies("Mutations", "How many mutations it has.", |o, _| {
                list(o, &["spec", "mutations"]).len().into()
            }),
        ),
        (
            (ADMISSION, "mutatingadmissionpolicybindings"),
            policy_bindings(),
        ),
        (
            (ADMISSION, "validatingadmissionpolicies"),
            policies("Validations", "How many validations it has.", |o, _| {
                list(o, &["spec", "validations"]).len().into()
            }),
        ),
        (
            (ADMISSION, "validatingadmissionpolicybindings"),
            policy_bindings(),
        ),
        ((FLOW, "flowschemas"), flows()),
        ((FLOW, "prioritylevelconfigurations"), levels()),
    ]
}

fn components() -> Vec<Column> {
    fn healthy(component: &Object, field: &str) -> Value {
        let mut conditions = list(component, &["conditions"]).iter();
        let healthy = conditions.find(|condition| condition["type"] == "Healthy");
        let told = healthy.and_then(|condition| condition[field].as_str());
        told.unwrap_or_default().into()
    }
    vec![
        Column::name(),
        show("Status", "Whether it is healthy.", |o, _| {
            match healthy(o, "status").as_str() {
                Some("True") => "Healthy".into(),
                Some("False") => "Unhealthy".into(),
                _ => "Unknown".into(),
            }
        }),
        show("Message", "What it says.", |o, _| healthy(o, "message")),
        show("Error", "Why it cannot be asked.", |o, _| {
            healthy(o, "error")
        }),
    ]
}

fn nodes() -> Vec<Column> {
    vec![
        Column::name(),
        show("Status", "Whether it is ready.", |node, _| {
            let ready = match condition(node, "Ready") {
                Some("True") => "Ready",
                Some(_) => "NotReady",
                None => "Unknown",
            };
            if at(node, &["spec", "unschedulable"]) == &Value::Bool(true) {
                format!("{ready},SchedulingDisabled").into()
            } else {
                ready.into()
            }
        }),
        show("Roles", "What it is for.", roles),
        Column::age(),
        show("Version", "The version of its kubelet.", |o, _| {
            text(o, &["status", "nodeInfo", "kubeletVersion"]).into()
        }),
        show("Internal-IP", "Its address in the cluster.", |o, _| {
            address(o, "InternalIP")
        })
        .wide(),
        show("External-IP", "Its address outside.", |o, _| {
            address(o, "ExternalIP")
        })
        .wide(),
        show("OS-Image", "Its operating system.", |o, _| {
            or(text(o, &["status", "nodeInfo", "osImage"]), "<unknown>")
        })
        .wide(),
        show("Kernel-Version", "Its kernel.", |o, _| {
            let info = |field| text(o, &["status", "nodeInfo", field]);
            let kernel = or(info("kernelVersion"), "<unknown>");
            match info("architecture") {
                "" => kernel,
                machine => format!("{} ({machine})", kernel.as_str().unwrap_or_default()).into(),
            }
        })
        .wide(),
        show("Container-Runtime", "What runs its containers.", |o, _| {
            or(
                text(o, &["status", "nodeInfo", "containerRuntimeVersion"]),
                "<unknown>",
            )
        })
        .wide(),
    ]
}

fn roles(node: &Object, _now: Seconds) -> Value {
    let labels = node.labels().iter();
    let roles: BTreeSet<&str> = labels
        .filter_map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => Some(role),
                None if key == "kubernetes.io/role" => value.as_str(),
                None => None,
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    or(&roles.into_iter().collect::<Vec<_>>().join(","), NONE)
}

fn address(node: &Object, kind: &str) -> Value {
    let mut all = list(node, &["status", "addresses"]).iter();
    let found = all.find(|address| address["type"] == kind);
    or(
        found
            .and_then(|found| found["address"].as_str())
            .unwrap_or_default(),
        NONE,
    )
}

fn quotas() -> Vec<Column> {
    fn used(quota: &Object, of_limits: bool) -> Value {
        let hard = at(quota, &["status", "hard"])
            .as_object()
            .into_iter()
            .flatten();
        let rows = hard.filter(|(name, _)| name.starts_with("limits.") == of_limits);
        let rows = rows.map(|(name, hard)| {
            let used = or(text(quota, &["status", "used", name]), "0");
            let (used, hard) = (
                used.as_str().unwrap_or_default(),
                hard.as_str().unwrap_or_default(),
            );
            format!("{name}: {used}/{hard}")
        });
        rows.collect::<Vec<_>>().join(", ").into()
    }
    vec![
        Column::name(),
        show(
            "Request",
            "What is used of what may be asked for.",
            |o, _| used(o, false),
        ),
        show("Limit", "What is used of what may be allowed.", |o, _| {
            used(o, true)
        }),
        Column::age(),
    ]
}

fn priorities() -> Vec<Column> {
    vec![
        Column::name(),
        count("Value", "The higher goes first.", |o, _| {
            number(o, &["value"]).into()
        }),
        truth(
            "Global-Default",
            "Whether pods of no class have it.",
            |o, _| {
                at(o, &["globalDefault"])
                    .as_bool()
                    .unwrap_or_default()
                    .into()
            },
        ),
        Column::age(),
        show("PreemptionPolicy", "Whether others make room.", |o, _| {
            text(o, &["preemptionPolicy"]).into()
        }),
    ]
}

fn runtimes() -> Vec<Column> {
    vec![
        Column::name(),
        show("Handler", "What runs the containers.", |o, _| {
            text(o, &["handler"]).into()
        }),
        Column::age(),
    ]
}

fn requests() -> Vec<Column> {
    let duration = |request: &Object, _: Seconds| {
        let seconds = at(request, &["spec", "expirationSeconds"]).as_i64();
        let end = seconds.and_then(Seconds::from_unix);
        match (Seconds::from_unix(0), end) {
            (Some(start), Some(end)) => table::age(start, end).into(),
            _ => NONE.into(),
        }
    };
    let told = |request: &Object, _: Seconds| {
        let conditions = list(request, &["status", "conditions"]);
        let has = |name: &str| conditions.iter().any(|told| told["type"] == name);
        let mut told = match (has("Denied"), has("Approved")) {
            (true, _) => "Denied",
            (false, true) => "Approved",
            (false, false) => "Pending",
        }
        .to_owned();
        if has("Failed") {
            told.push_str(",Failed");
        }
        if !text(request, &["status", "certificate"]).is_empty() {
            told.push_str(",Issued");
        }
        told.into()
    };
    vec![
        Column::name(),
        Column::age(),
        show("SignerName", "Who should sign.", |o, _| {
            or(text(o, &["spec", "signerName"]), NONE)
        }),
        show("Requestor", "Who asks.", |o, _| {
            text(o, &["spec", "username"]).into()
        }),
        show("RequestedDuration", "For how long.", duration),
        show("Condition", "What was decided.", told),
    ]
}

fn webhooks() -> Vec<Column> {
    vec![
        Column::name(),
        count("Webhooks", "How many there are.", |o, _| {
            list(o, &["webhooks"]).len().into()
        }),
        Column::age(),
    ]
}

fn policies(name: &str, description: &str, expressions: Cell) -> Vec<Column> {
    vec![
        Column::name(),
        count(name, description, expressions),
        show("ParamKind", "The kind of its parameters.", |o, _| {
            let kind = at(o, &["spec", "paramKind"]);
            let text = |field: &str| kind[field].as_str().unwrap_or_default();
            if kind.is_object() {
                format!("{}/{}", text("apiVersion"), text("kind")).into()
            } else {
                UNSET.into()
            }
        }),
        Column::age(),
    ]
}

fn policy_bindings() -> Vec<Column> {
    vec![
        Column::name(),
        show("PolicyName", "The policy.", |o, _| {
            text(o, &["spec", "policyName"]).into()
        }),
        show("ParamRef", "The parameters.", |o, _| {
            let param_ref = at(o, &["spec", "paramRef"]);
            let text = |field: &str| param_ref[field].as_str().unwrap_or_default();
            match (text("namespace"), text("name")) {
                (_, "") if param_ref["selector"].is_object() => {
                    selector(&param_ref["selector"]).into()
                }
                (_, "") => UNSET.into(),
                // As upstream: it is not known here whether the parameters are namespaced.
                ("", name) => format!("*/{name}").into(),
                (namespace, name) => format!("{namespace}/{name}").into(),
            }
        }),
        Column::age(),
    ]
}

fn flows() -> Vec<Column> {
    vec![
        Column::name(),
        show("PriorityLevel", "Where requests wait.", |o, _| {
            text(o, &["spec", "priorityLevelConfiguration", "name"]).into()
        }),
        show(
            "MatchingPrecedence",
            "The lowest that fits counts.",
            |o, _| number(o, &["spec", "matchingPrecedence"]).into(),
        ),
        show("DistinguisherMethod", "What tells flows apart.", |o, _| {
            or(text(o, &["spec", "distinguisherMethod", "type"]), NONE)
        }),
        Column::age(),
        show("MissingPL", "Whether the level is missing.", |o, _| {
            or(condition(o, "Dangling").unwrap_or_default(), "?")
        }),
    ]
}

fn levels() -> Vec<Column> {
    fn limited(level: &Object, path: &[&str]) -> Value {
        let path: Vec<&str> = ["spec", "limited"]
            .into_iter()
            .chain(path.iter().copied())
            .collect();
        match at(level, &path) {
            Value::Null => NONE.into(),
            value => value.clone(),
        }
    }
    vec![
        Column::name(),
        show("Type", "Whether it has limits.", |o, _| {
            text(o, &["spec", "type"]).into()
        }),
        show("NominalConcurrencyShares", "Its share.", |o, _| {
            limited(o, &["nominalConcurrencyShares"])
        }),
        show("Queues", "How many queues it has.", |o, _| {
            limited(o, &["limitResponse", "queuing", "queues"])
        }),
        show("HandSize", "How many queues a flow may use.", |o, _| {
            limited(o, &["limitResponse", "queuing", "handSize"])
        }),
        show("QueueLengthLimit", "How many may wait in one.", |o, _| {
            limited(o, &["limitResponse", "queuing", "queueLengthLimit"])
        }),
        Column::age(),
    ]
}
