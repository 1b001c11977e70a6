//! Events: stored as `v1` and served by two groups. Fields are renamed between the core group and `events.k8s.io`.

use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::{dns1123_subdomain, qualified_name};
use lockstep_object::{Object, Value};

use super::types;

/// Renamed fields: the name in `events.k8s.io`, and the stored name of the core group.
pub(super) const RENAMED: [(&str, &str); 7] = [
    ("deprecatedCount", "count"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedSource", "source"),
    ("note", "message"),
    ("regarding", "involvedObject"),
    ("reportingController", "reportingComponent"),
];

/// The maximum length of string fields, except for the note.
const TEXT_BYTES_MAX: usize = 128;
/// The maximum length of the note.
const NOTE_BYTES_MAX: usize = 1024;
/// The minimum `series.count`.
const SERIES_MIN: i64 = 2;

/// The API that an event is validated for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EventsApi {
    /// The core group, which validates little for compatibility with old clients.
    Core,
    /// `events.k8s.io`, which validates all fields.
    Events,
}

/// Renames fields to those of `events.k8s.io`.
pub(super) fn show(event: &mut Object) {
    rename(event, |(shown, stored)| (stored, shown));
}

/// Renames fields to the stored ones of the core group.
pub(super) fn store(event: &mut Object) {
    rename(event, |pair| pair);
    let printed = types::check(types::type_of("", "v1", "Event"), event, &mut Vec::new());
    debug_assert_eq!(printed, Ok(()), "its fields are those of the stored kind");
}

fn rename(
    event: &mut Object,
    direction: fn((&'static str, &'static str)) -> (&'static str, &'static str),
) {
    let fields = event.fields_mut();
    for (from, to) in RENAMED.map(direction) {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

/// Validates an event of either group.
pub(super) fn validate(event: &Object, old: Option<&Object>, api: EventsApi) -> FieldErrors {
    let core = |event: &Object| {
        let mut event = event.clone();
        rename(&mut event, |pair| pair);
        event
    };
    let event = core(event);
    let mut errors = check_namespace_and_texts(&event, api);
    if api == EventsApi::Core {
        return errors;
    }
    match old.map(core) {
        None => {
            errors.append(check_series(&event));
            errors.append(check_new(&event));
        }
        Some(old) => {
            if event.at(&["series"]) != old.at(&["series"]) {
                errors.append(check_series(&event));
            }
            errors.append(check_immutable(&event, &old));
        }
    }
    errors
}

/// Checks that apply to all events. Those with an `eventTime` also need a reporting controller, an action and a reason.
fn check_namespace_and_texts(event: &Object, api: EventsApi) -> FieldErrors {
    let is_new = is_time(event, "eventTime");
    let involved = Path::ROOT.field("involvedObject");
    let place = text(event, &["involvedObject", "namespace"]);
    let is_elsewhere = match (place, event.namespace()) {
        ("", "" | "default") => false,
        ("", "kube-system") => !is_new,
        ("", _) => true,
        (place, namespace) => !is_new && place != namespace,
    };
    let mut errors = FieldErrors::new();
    if is_elsewhere {
        let path = involved.field("namespace");
        let problem = "does not match event.namespace";
        errors.push(FieldError::invalid(&path, place, problem));
    }
    if is_new {
        errors.append(check_texts(event, api));
    }
    let path = Path::ROOT.field("namespace");
    let problems = dns1123_subdomain(event.namespace());
    let error = |problem| FieldError::invalid(&path, event.namespace(), problem);
    errors.extend(problems.into_iter().map(error));
    errors
}

fn check_texts(event: &Object, api: EventsApi) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let controller = text(event, &["reportingComponent"]);
    let path = Path::ROOT.field(match api {
        EventsApi::Core => "reportingComponent",
        EventsApi::Events => "reportingController",
    });
    if controller.is_empty() {
        errors.push(FieldError::required(&path, ""));
    }
    let problems = qualified_name(controller).into_iter();
    errors.extend(problems.map(|problem| FieldError::invalid(&path, controller, problem)));
    for (field, is_required, bytes_max) in [
        ("reportingInstance", true, TEXT_BYTES_MAX),
        ("action", true, TEXT_BYTES_MAX),
        ("reason", true, TEXT_BYTES_MAX),
        ("message", false, NOTE_BYTES_MAX),
    ] {
        let (path, given) = (Path::ROOT.field(field), text(event, &[field]));
        if is_required && given.is_empty() {
            errors.push(FieldError::required(&path, ""));
        }
        if given.len() > bytes_max {
            let problem = format!("can have at most {bytes_max} characters");
            errors.push(FieldError::invalid(&path, "", problem));
        }
    }
    errors
}

fn check_series(event: &Object) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let series = event.at(&["series"]).filter(|series| series.is_object());
    let Some(series) = series else {
        return errors;
    };
    let path = |field| Path::ROOT.field(field);
    if series["count"].as_i64().unwrap_or_default() < SERIES_MIN {
        let problem = format!("should be at least {SERIES_MIN}");
        errors.push(FieldError::invalid(&path("series.count"), "", problem));
    }
    if !series["lastObservedTime"].is_string() {
        errors.push(FieldError::required(&path("series.lastObservedTime"), ""));
    }
    errors
}

/// Requires `eventTime` and a type, and rejects the deprecated fields, on create.
fn check_new(event: &Object) -> FieldErrors {
    let mut errors = FieldErrors::new();
    if !is_time(event, "eventTime") {
        errors.push(FieldError::required(&Path::ROOT.field("eventTime"), ""));
    }
    let kind = text(event, &["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        let problem = format!("has invalid value: {kind}");
        errors.push(FieldError::invalid(&Path::ROOT.field("type"), "", problem));
    }
    let has_source = ["component", "host"]
        .iter()
        .any(|part| !text(event, &["source", part]).is_empty());
    let count = event.at(&["count"]).and_then(Value::as_i64);
    for (field, is_set) in [
        ("firstTimestamp", is_time(event, "firstTimestamp")),
        ("lastTimestamp", is_time(event, "lastTimestamp")),
        ("count", count.unwrap_or_default() != 0),
        ("source", has_source),
    ] {
        if is_set {
            let path = Path::ROOT.field(field);
            errors.push(FieldError::invalid(&path, "", "needs to be unset"));
        }
    }
    errors
}

/// Rejects changes of all fields except the series.
fn check_immutable(event: &Object, old: &Object) -> FieldErrors {
    let fields = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "type",
        "eventTime",
        "action",
        "related",
        "reportingComponent",
        "reportingInstance",
    ];
    let of = |object: &Object, field: &str| object.at(&[field]).cloned().unwrap_or_default();
    let changed = fields
        .into_iter()
        .filter(|field| of(event, field) != of(old, field));
    let error = |field: &str| {
        let name = match field {
            "reportingComponent" => "reportingController",
            field => field,
        };
        let path = Path::ROOT.field(name);
        FieldError::invalid(&path, &of(event, field), "field is immutable")
    };
    changed.map(error).collect()
}

fn is_time(event: &Object, field: &str) -> bool {
    event.at(&[field]).is_some_and(Value::is_string)
}

fn text<'o>(event: &'o Object, path: &[&str]) -> &'o str {
    event.at(path).and_then(Value::as_str).unwrap_or_default()
}
