//! Table columns of built-in kinds.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};

use super::events::RENAMED;
use super::printers;
use crate::crd;
use crate::{Column, Columns, age};

/// Table columns of a resource; name and age by default.
pub(super) fn of(group: &'static str, plural: &'static str) -> &'static Columns {
    static TABLES: LazyLock<BTreeMap<(&str, &str), Columns>> = LazyLock::new(tables);
    let own = TABLES.get(&(group, plural));
    own.unwrap_or_else(|| Columns::name_and_age())
}

fn tables() -> BTreeMap<(&'static str, &'static str), Columns> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let created = || vec![Column::name(), Column::created_at()];
    let rows = [
        (
            ("", "namespaces"),
            vec![
                Column::name(),
                Column::computed("Status", "The phase of the namespace.", |namespace, _| {
                    text(namespace, &["status", "phase"]).into()
                }),
                Column::age(),
            ],
        ),
        (
            ("", "configmaps"),
            vec![
                Column::name(),
                Column::computed("Data", "How many entries it has.", |map, _| {
                    (entries(map, "data") + entries(map, "binaryData")).into()
                }),
                Column::age(),
            ],
        ),
        (
            ("", "secrets"),
            vec![
                Column::name(),
                Column::computed("Type", "What the secret is for.", |secret, _| {
                    text(secret, &["type"]).into()
                }),
                Column::computed("Data", "How many entries it has.", |secret, _| {
                    entries(secret, "data").into()
                }),
                Column::age(),
            ],
        ),
        (("", "events"), events()),
        (("events.k8s.io", "events"), events()),
        (
            ("coordination.k8s.io", "leases"),
            vec![
                Column::name(),
                Column::computed("Holder", "Who holds the lease.", |lease, _| {
                    text(lease, &["spec", "holderIdentity"]).into()
                }),
                Column::age(),
            ],
        ),
        ((RBAC, "roles"), created()),
        ((RBAC, "clusterroles"), created()),
        ((RBAC, "rolebindings"), bindings()),
        ((RBAC, "clusterrolebindings"), bindings()),
        ((crd::GROUP, crd::PLURAL), created()),
        (
            ("apiregistration.k8s.io", "apiservices"),
            vec![
                Column::name(),
                Column::computed("Service", "Where the group and version is served.", service),
                Column::computed("Available", "Whether it is served.", available),
                Column::age(),
            ],
        ),
    ];
    let rows = rows.into_iter().chain(printers::tables());
    rows.map(|(key, columns)| (key, Columns::new(columns)))
        .collect()
}

/// Columns of events. The name comes last, because events are identified by time and object.
fn events() -> Vec<Column> {
    vec![
        Column::computed("Last Seen", "When it happened last.", last_seen),
        Column::computed("Type", "Whether it is a warning.", |event, _| {
            event_text(event, &["type"]).into()
        }),
        Column::computed("Reason", "Why, in a word.", |event, _| {
            event_text(event, &["reason"]).into()
        }),
        Column::computed("Object", "What it is about.", involved),
        Column::computed("Subobject", "The part it is about.", |event, _| {
            event_text(event, &["involvedObject", "fieldPath"]).into()
        })
        .wide(),
        Column::computed("Source", "Who tells it.", source).wide(),
        Column::computed("Message", "What happened.", |event, _| {
            event_text(event, &["message"]).trim().into()
        }),
        Column::computed("First Seen", "When it happened first.", first_seen).wide(),
        Column::computed("Count", "How often it happened.", count).wide(),
        Column::name().wide(),
    ]
}

fn first_seen(event: &Object, now: Seconds) -> Value {
    let first = event_at(event, &["firstTimestamp"]).filter(|time| time.is_string());
    age(first.or_else(|| event_at(event, &["eventTime"])), now)
}

fn last_seen(event: &Object, now: Seconds) -> Value {
    let series = event_at(event, &["series"]).filter(|series| series.is_object());
    if series.is_some() {
        return age(event_at(event, &["series", "lastObservedTime"]), now);
    }
    match event_at(event, &["lastTimestamp"]).filter(|time| time.is_string()) {
        Some(last) => age(Some(last), now),
        None => first_seen(event, now),
    }
}

fn involved(event: &Object, _now: Seconds) -> Value {
    let kind = event_text(event, &["involvedObject", "kind"]).to_lowercase();
    match event_text(event, &["involvedObject", "name"]) {
        "" => kind.into(),
        name => format!("{kind}/{name}").into(),
    }
}

fn source(event: &Object, _now: Seconds) -> Value {
    let first_of = |old: &[&str], new: &str| match event_text(event, old) {
        "" => event_text(event, &[new]).to_owned(),
        old => old.to_owned(),
    };
    let component = first_of(&["source", "component"], "reportingComponent");
    match first_of(&["source", "host"], "reportingInstance").as_str() {
        "" => component.into(),
        instance => format!("{component}, {instance}").into(),
    }
}

fn count(event: &Object, _now: Seconds) -> Value {
    let number = |path: &[&str]| {
        event_at(event, path)
            .and_then(Value::as_i64)
            .unwrap_or_default()
    };
    let series = event_at(event, &["series"]).filter(|series| series.is_object());
    match (series, number(&["count"])) {
        (Some(_), _) => number(&["series", "count"]).into(),
        // A zero count means that the event happened once.
        (None, 0) => 1.into(),
        (None, count) => count.into(),
    }
}

/// The value at a path of the core group, whichever group's field names the event has.
fn event_at<'o>(event: &'o Object, path: &[&str]) -> Option<&'o Value> {
    let (first, rest) = path.split_first()?;
    let renamed = RENAMED.iter().find(|(_, stored)| stored == first);
    let names = [Some(*first), renamed.map(|(shown, _)| *shown)];
    let mut found = names
        .into_iter()
        .flatten()
        .map(|name| event.at(&[&[name], rest].concat()));
    found.find_map(|found| found)
}

fn event_text<'o>(event: &'o Object, path: &[&str]) -> &'o str {
    let found = event_at(event, path);
    found.and_then(Value::as_str).unwrap_or_default()
}

/// Columns of role bindings.
fn bindings() -> Vec<Column> {
    vec![
        Column::name(),
        Column::computed("Role", "The role that is given.", |binding, _| {
            let part = |field| text(binding, &["roleRef", field]);
            format!("{}/{}", part("kind"), part("name")).into()
        }),
        Column::age(),
        Column::computed("Users", "The users who get it.", |binding, _| {
            subjects(binding, "User")
        })
        .wide(),
        Column::computed("Groups", "The groups that get it.", |binding, _| {
            subjects(binding, "Group")
        })
        .wide(),
        Column::computed(
            "ServiceAccounts",
            "The service accounts that get it.",
            |binding, _| subjects(binding, "ServiceAccount"),
        )
        .wide(),
    ]
}

fn subjects(binding: &Object, kind: &str) -> Value {
    let subjects = binding.at(&["subjects"]).and_then(Value::as_array);
    let subjects = subjects.into_iter().flatten();
    let of_kind = subjects.filter(|subject| subject["kind"] == kind);
    let names = of_kind.map(|subject| {
        let part = |field: &str| subject[field].as_str().unwrap_or_default();
        match kind {
            "ServiceAccount" => format!("{}/{}", part("namespace"), part("name")),
            _ => part("name").to_owned(),
        }
    });
    names.collect::<Vec<_>>().join(", ").into()
}

fn service(api: &Object, _now: Seconds) -> Value {
    let part = |field| text(api, &["spec", "service", field]);
    match api
        .at(&["spec", "service"])
        .filter(|service| service.is_object())
    {
        Some(_) => format!("{}/{}", part("namespace"), part("name")).into(),
        None => "Local".into(),
    }
}

fn available(api: &Object, _now: Seconds) -> Value {
    let conditions = api.at(&["status", "conditions"]).and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let Some(condition) = conditions.find(|condition| condition["type"] == "Available") else {
        return "Unknown".into();
    };
    let part = |field: &str| condition[field].as_str().unwrap_or_default();
    match part("status") {
        "True" => "True".into(),
        status => format!("{status} ({})", part("reason")).into(),
    }
}

/// The string at a path; empty if there is none.
fn text<'o>(object: &'o Object, path: &[&str]) -> &'o str {
    object.at(path).and_then(Value::as_str).unwrap_or_default()
}

/// The number of entries of a map field.
fn entries(object: &Object, field: &str) -> usize {
    let map = object.at(&[field]).and_then(Value::as_object);
    map.map_or(0, serde_json::Map::len)
}
