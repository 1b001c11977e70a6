//! Field selectors of built-in kinds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::SelectableField;

/// Selectable fields whose name is their path, by group and plural.
const FIELDS: &[(&str, &str, &[&str])] = &[
    (
        "",
        "events",
        &[
            "involvedObject.apiVersion",
            "involvedObject.fieldPath",
            "involvedObject.kind",
            "involvedObject.name",
            "involvedObject.namespace",
            "involvedObject.resourceVersion",
            "involvedObject.uid",
            "reason",
            "reportingComponent",
            "type",
        ],
    ),
    ("events.k8s.io", "events", &["reason", "type"]),
    ("", "namespaces", &["status.phase"]),
    (
        "",
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.nominatedNodeName",
            "status.phase",
            "status.podIP",
            "status.podIPs",
        ],
    ),
    ("", "services", &["spec.clusterIP", "spec.type"]),
    (
        "certificates.k8s.io",
        "certificatesigningrequests",
        &["spec.signerName"],
    ),
    ("", "secrets", &["type"]),
];

/// Numbers and booleans, which match their zero value when absent: group, plural, name, path, absent value.
const COUNTED: &[(&str, &str, &str, &str, &str)] = &[
    (
        "",
        "nodes",
        "spec.unschedulable",
        "spec.unschedulable",
        "false",
    ),
    ("", "pods", "spec.hostNetwork", "spec.hostNetwork", "false"),
    (
        "",
        "replicationcontrollers",
        "status.replicas",
        "status.replicas",
        "0",
    ),
    (
        "apps",
        "replicasets",
        "status.replicas",
        "status.replicas",
        "0",
    ),
    (
        "batch",
        "jobs",
        "status.successful",
        "status.succeeded",
        "0",
    ),
];

/// Selectable fields of a resource, except name and namespace.
pub(super) fn of(group: &'static str, plural: &'static str) -> &'static [SelectableField] {
    static TABLE: LazyLock<BTreeMap<(&str, &str), Vec<SelectableField>>> = LazyLock::new(table);
    let fields = TABLE.get(&(group, plural));
    fields.map(Vec::as_slice).unwrap_or_default()
}

fn table() -> BTreeMap<(&'static str, &'static str), Vec<SelectableField>> {
    let rows = FIELDS.iter().map(|(group, plural, names)| {
        let fields = names.iter().map(|name| SelectableField::at(name));
        ((*group, *plural), fields.collect())
    });
    let mut table: BTreeMap<_, Vec<SelectableField>> = rows.collect();
    // Older events name their reporter in `source.component`, newer ones in `reportingComponent`.
    table
        .entry(("", "events"))
        .or_default()
        .push(SelectableField {
            name: "source".into(),
            paths: vec!["source.component".into(), "reportingComponent".into()],
            absent: "",
        });
    for (group, plural, name, path, absent) in COUNTED {
        let fields = table.entry((*group, *plural)).or_default();
        fields.push(SelectableField {
            name: (*name).into(),
            ..SelectableField::at(path).or(absent)
        });
    }
    // Selectors read the stored object, so names of `events.k8s.io` map to paths of the core group.
    let renamed = |name: &str, path: &str| SelectableField {
        name: name.into(),
        ..SelectableField::at(path)
    };
    let events = table.entry(("events.k8s.io", "events")).or_default();
    events.push(renamed("reportingController", "reportingComponent"));
    for part in [
        "apiVersion",
        "fieldPath",
        "kind",
        "name",
        "namespace",
        "resourceVersion",
        "uid",
    ] {
        let (name, path) = (
            format!("regarding.{part}"),
            format!("involvedObject.{part}"),
        );
        events.push(renamed(&name, &path));
    }
    table
}
