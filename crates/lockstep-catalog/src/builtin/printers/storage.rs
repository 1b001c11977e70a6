//! Table columns of volumes, claims, classes and drivers.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};

use super::{NONE, Table, UNSET, at, count, list, or, show, text, truth};
use crate::{Cell, Column};

pub(super) fn tables() -> Vec<Table> {
    const STORAGE: &str = "storage.k8s.io";
    vec![
        (("", "persistentvolumes"), volumes()),
        (("", "persistentvolumeclaims"), claims()),
        ((STORAGE, "storageclasses"), storage_classes()),
        ((STORAGE, "volumeattachments"), attachments()),
        ((STORAGE, "csidrivers"), drivers()),
        ((STORAGE, "csinodes"), driver_nodes()),
        (
            (STORAGE, "csistoragecapacities"),
            vec![Column::name(), Column::created_at()],
        ),
    ]
}

fn named(cell: fn(&Object, Seconds) -> Value) -> Column {
    Column {
        cell: Cell::Computed(cell),
        ..Column::name()
    }
}

/// Abbreviated access modes, in upstream's order.
fn modes(modes: &[Value]) -> String {
    const SHORT: [(&str, &str); 4] = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let told = SHORT
        .iter()
        .filter(|(mode, _)| modes.iter().any(|told| told == mode));
    told.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn phase(object: &Object, _now: Seconds) -> Value {
    match object.deletion_timestamp() {
        Some(_) => "Terminating".into(),
        None => text(object, &["status", "phase"]).into(),
    }
}

fn class(object: &Object, _now: Seconds) -> Value {
    match object.annotation("volume.beta.kubernetes.io/storage-class") {
        Some(class) => class.into(),
        None => text(object, &["spec", "storageClassName"]).into(),
    }
}

fn attributes_class(object: &Object, _now: Seconds) -> Value {
    or(text(object, &["spec", "volumeAttributesClassName"]), UNSET)
}

fn mode(object: &Object, _now: Seconds) -> Value {
    or(text(object, &["spec", "volumeMode"]), UNSET)
}

fn volumes() -> Vec<Column> {
    vec![
        Column::name(),
        show("Capacity", "How large it is.", |o, _| {
            or(text(o, &["spec", "capacity", "storage"]), "0")
        }),
        show("Access Modes", "How it can be mounted.", |o, _| {
            modes(list(o, &["spec", "accessModes"])).into()
        }),
        show("Reclaim Policy", "What becomes of it.", |o, _| {
            text(o, &["spec", "persistentVolumeReclaimPolicy"]).into()
        }),
        show("Status", "Whether it is in use.", phase),
        show("Claim", "Who has it.", |o, _| {
            let part = |field| text(o, &["spec", "claimRef", field]);
            if at(o, &["spec", "claimRef"]).is_object() {
                format!("{}/{}", part("namespace"), part("name")).into()
            } else {
                "".into()
            }
        }),
        show("StorageClass", "Where it comes from.", class),
        show(
            "VolumeAttributesClass",
            "How it is set up.",
            attributes_class,
        ),
        show("Reason", "Why it is as it is.", |o, _| {
            text(o, &["status", "reason"]).into()
        }),
        Column::age(),
        show("VolumeMode", "Files or a device.", mode).wide(),
    ]
}

fn claims() -> Vec<Column> {
    fn is_bound(claim: &Object) -> bool {
        !text(claim, &["spec", "volumeName"]).is_empty()
    }
    vec![
        Column::name(),
        show("Status", "Whether it has a volume.", phase),
        show("Volume", "The volume.", |o, _| {
            text(o, &["spec", "volumeName"]).into()
        }),
        show("Capacity", "How large it is.", |o, _| {
            if is_bound(o) {
                or(text(o, &["status", "capacity", "storage"]), "0")
            } else {
                "".into()
            }
        }),
        show("Access Modes", "How it can be mounted.", |o, _| {
            if is_bound(o) {
                modes(list(o, &["status", "accessModes"])).into()
            } else {
                "".into()
            }
        }),
        show("StorageClass", "Where volumes come from.", class),
        show(
            "VolumeAttributesClass",
            "How it is set up.",
            attributes_class,
        ),
        Column::age(),
        show("VolumeMode", "Files or a device.", mode).wide(),
    ]
}

fn storage_classes() -> Vec<Column> {
    const DEFAULT: [&str; 2] = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    vec![
        named(|class, _| {
            let is_default = DEFAULT
                .iter()
                .any(|name| class.annotation(name) == Some("true"));
            if is_default {
                format!("{} (default)", class.name()).into()
            } else {
                class.name().into()
            }
        }),
        show("Provisioner", "Who makes volumes.", |o, _| {
            text(o, &["provisioner"]).into()
        }),
        show("ReclaimPolicy", "What becomes of them.", |o, _| {
            or(text(o, &["reclaimPolicy"]), "Delete")
        }),
        show("VolumeBindingMode", "When they are made.", |o, _| {
            or(text(o, &["volumeBindingMode"]), "Immediate")
        }),
        show("AllowVolumeExpansion", "Whether they can grow.", |o, _| {
            at(o, &["allowVolumeExpansion"])
                .as_bool()
                .unwrap_or_default()
                .into()
        }),
        Column::age(),
    ]
}

fn attachments() -> Vec<Column> {
    vec![
        Column::name(),
        show("Attacher", "Who attaches it.", |o, _| {
            text(o, &["spec", "attacher"]).into()
        }),
        show("PV", "The volume.", |o, _| {
            text(o, &["spec", "source", "persistentVolumeName"]).into()
        }),
        show("Node", "The node.", |o, _| {
            text(o, &["spec", "nodeName"]).into()
        }),
        truth("Attached", "Whether that is done.", |o, _| {
            at(o, &["status", "attached"])
                .as_bool()
                .unwrap_or_default()
                .into()
        }),
        Column::age(),
    ]
}

fn drivers() -> Vec<Column> {
    fn flag(driver: &Object, field: &str, default: bool) -> Value {
        at(driver, &["spec", field])
            .as_bool()
            .unwrap_or(default)
            .into()
    }
    vec![
        Column::name(),
        truth("AttachRequired", "Whether volumes are attached.", |o, _| {
            flag(o, "attachRequired", true)
        }),
        truth(
            "PodInfoOnMount",
            "Whether it is told about pods.",
            |o, _| flag(o, "podInfoOnMount", false),
        ),
        truth(
            "StorageCapacity",
            "Whether it tells what is left.",
            |o, _| flag(o, "storageCapacity", false),
        ),
        show("TokenRequests", "The audiences of its tokens.", |o, _| {
            let all = list(o, &["spec", "tokenRequests"]).iter();
            let all: Vec<&str> = all.filter_map(|token| token["audience"].as_str()).collect();
            if at(o, &["spec", "tokenRequests"]).is_array() {
                all.join(",").into()
            } else {
                UNSET.into()
            }
        }),
        truth(
            "RequiresRepublish",
            "Whether volumes are published again.",
            |o, _| flag(o, "requiresRepublish", false),
        ),
        show("Modes", "Which volumes it has.", |o, _| {
            let all = list(o, &["spec", "volumeLifecycleModes"]).iter();
            let all: Vec<&str> = all.filter_map(Value::as_str).collect();
            or(&all.join(","), NONE)
        }),
        Column::age(),
    ]
}

fn driver_nodes() -> Vec<Column> {
    vec![
        Column::name(),
        count("Drivers", "How many drivers it has.", |o, _| {
            list(o, &["spec", "drivers"]).len().into()
        }),
        Column::age(),
    ]
}
