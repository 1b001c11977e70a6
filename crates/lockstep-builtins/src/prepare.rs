//! Create strategies: fields that the server sets on new objects, apart from metadata and defaults.

use lockstep_object::{Map, Object, Value};
use serde_json::json;

use crate::look::{fill, map_in, text};
use crate::qos;

/// Seconds a pod tolerates a node that is not ready or unreachable.
const TOLERATION_SECONDS: i64 = 300;
/// Taints that pods tolerate for [`TOLERATION_SECONDS`].
const TOLERATED: [&str; 2] = [
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
];

/// Sets the phase to Pending and computes the `QoS` class.
pub(crate) fn pod(pod: &mut Object) {
    let class = qos::class(&pod.as_value()["spec"]).as_str();
    let mut status = json!({ "phase": "Pending", "qosClass": class });
    let gates = pod
        .at(&["spec", "schedulingGates"])
        .and_then(Value::as_array);
    if gates.is_some_and(|gates| !gates.is_empty()) {
        status["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastTransitionTime": pod.creation_timestamp(),
        }]);
    }
    let fields = pod.fields_mut();
    fields.insert("status".to_owned(), status);
    let spec = map_in(fields, "spec");
    tolerate(spec);
    fill(spec, "priority", 0);
    fill(spec, "preemptionPolicy", "PreemptLowerPriority");
}

/// Adds the default tolerations (`DefaultTolerationSeconds`) unless the pod has its own.
fn tolerate(spec: &mut Map<String, Value>) {
    let tolerations = spec
        .entry("tolerations")
        .or_insert_with(|| Value::Array(Vec::new()));
    let Some(tolerations) = tolerations.as_array_mut() else {
        return;
    };
    let own = tolerations.clone();
    for key in TOLERATED {
        let is_covered = own.iter().any(|toleration| {
            let is_about = text(toleration, "key") == key || text(toleration, "key").is_empty();
            let effect = text(toleration, "effect");
            is_about && (effect == "NoExecute" || effect.is_empty())
        });
        if !is_covered {
            tolerations.push(json!({
                "key": key,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": TOLERATION_SECONDS,
            }));
        }
    }
}

/// The labels by which a job knows its pods: the present ones and those of old.
const JOB_LABELS: [(&str, &str); 2] = [
    ("batch.kubernetes.io/controller-uid", "controller-uid"),
    ("batch.kubernetes.io/job-name", "job-name"),
];

/// A job selects its pods by its uid unless `manualSelector` is set.
pub(crate) fn job(job: &mut Object) {
    let (uid, name) = (job.uid().to_owned(), job.name().to_owned());
    let spec = map_in(job.fields_mut(), "spec");
    if spec.get("manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let template = map_in(spec, "template");
    let labels = map_in(map_in(template, "metadata"), "labels");
    let before = labels.clone();
    for ((label, old_label), value) in JOB_LABELS.into_iter().zip([&uid, &name]) {
        labels.insert(label.to_owned(), value.as_str().into());
        labels.insert(old_label.to_owned(), value.as_str().into());
    }
    let selector = map_in(map_in(spec, "selector"), "matchLabels");
    let (label, _) = JOB_LABELS[0];
    selector.entry(label).or_insert_with(|| uid.into());
    // A job that has the labels of its pods has those too.
    let of_pods = job.at(&["spec", "template", "metadata", "labels"]).cloned();
    if *job.labels() == before {
        let of_pods = of_pods.unwrap_or_default();
        job.metadata_mut().insert("labels".to_owned(), of_pods);
    }
}

/// Annotation with the template generation of a daemon set, for old clients.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The first template.
pub(crate) fn daemon_set(set: &mut Object) {
    count_template(set, 1);
}

/// Counts the changes of the template.
pub(crate) fn daemon_set_again(set: &mut Object, old: &Object) {
    let template = |set: &Object| set.at(&["spec", "template"]).cloned();
    let count = old.annotation(TEMPLATE_GENERATION);
    let count: i64 = count.and_then(|count| count.parse().ok()).unwrap_or(0);
    let changed = template(set) != template(old);
    count_template(set, count.saturating_add(i64::from(changed)));
}

fn count_template(set: &mut Object, count: i64) {
    let annotations = map_in(set.metadata_mut(), "annotations");
    annotations.insert(TEMPLATE_GENERATION.to_owned(), count.to_string().into());
}

/// Sets the phase of a new persistent volume to Pending.
pub(crate) fn volume(volume: &mut Object) {
    let since = volume.creation_timestamp();
    let status = json!({ "phase": "Pending", "lastPhaseTransitionTime": since });
    volume.fields_mut().insert("status".to_owned(), status);
}

/// A new node is not ready until its kubelet reports.
pub(crate) fn node(node: &mut Object) {
    align_node(node);
    let spec = map_in(node.fields_mut(), "spec");
    let taints = spec.entry("taints").or_insert(Value::Null);
    if !taints.is_array() {
        *taints = json!([]);
    }
    let key = TOLERATED[0];
    if let Some(taints) = taints.as_array_mut() {
        let is_there =
            |taint: &Value| text(taint, "key") == key && text(taint, "effect") == "NoSchedule";
        if !taints.iter().any(is_there) {
            taints.push(json!({ "key": key, "effect": "NoSchedule" }));
        }
    }
}

/// A node under its old field for the range of its pods and its new one.
pub(crate) fn align_node(node: &mut Object) {
    let spec = map_in(node.fields_mut(), "spec");
    let alone = spec.get("podCIDR").cloned().unwrap_or_default();
    let all = spec.get("podCIDRs").and_then(Value::as_array);
    let first = all.and_then(|all| all.first()).cloned();
    match (alone.as_str().unwrap_or_default(), first) {
        ("", Some(first)) => drop(spec.insert("podCIDR".to_owned(), first)),
        ("", None) | (_, Some(_)) => {}
        (alone, None) => drop(spec.insert("podCIDRs".to_owned(), json!([alone]))),
    }
}

/// Sets the phase of a new claim to Pending.
pub(crate) fn claim(claim: &mut Object) {
    let status = json!({ "phase": "Pending" });
    claim.fields_mut().insert("status".to_owned(), status);
    drop_sources(map_in(claim.fields_mut(), "spec"));
    same_source(claim);
}

/// The old field knows claims and snapshots only, the new one no other namespace while its gate is closed; what else is
/// there is left out.
fn drop_sources(spec: &mut Map<String, Value>) {
    let known = |source: &Value| {
        let (group, kind) = (text(source, "apiGroup"), text(source, "kind"));
        matches!(
            (group, kind),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    };
    if spec.get("dataSource").is_some_and(|source| !known(source)) {
        spec.remove("dataSource");
    }
    let elsewhere = |source: &Value| !text(source, "namespace").is_empty();
    if spec.get("dataSourceRef").is_some_and(elsewhere) {
        spec.remove("dataSourceRef");
    }
}

/// Synchronizes `dataSource` and `dataSourceRef`; only the latter may name another namespace.
pub(crate) fn same_source(claim: &mut Object) {
    let spec = map_in(claim.fields_mut(), "spec");
    let of = |spec: &Map<String, Value>, field: &str| {
        spec.get(field).filter(|it| it.is_object()).cloned()
    };
    match (of(spec, "dataSource"), of(spec, "dataSourceRef")) {
        (Some(source), None) => drop(spec.insert("dataSourceRef".to_owned(), source)),
        (None, Some(source)) if text(&source, "namespace").is_empty() => {
            spec.insert("dataSource".to_owned(), source);
        }
        _ => {}
    }
}

/// Preserves server-assigned fields of a pod that an update omits.
pub(crate) fn pod_again(pod: &mut Object, old: &Object) {
    let spec = map_in(pod.fields_mut(), "spec");
    for field in ["priority", "preemptionPolicy"] {
        let given = old.at(&["spec", field]).filter(|given| !given.is_null());
        if let Some(given) = given {
            fill(spec, field, given.clone());
        }
    }
    tolerate(spec);
}
