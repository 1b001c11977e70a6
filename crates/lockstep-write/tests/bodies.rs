//! The bodies that cost most are written in time and memory that grow as they do: api-machinery.md §6.
//!
//! Each body is written in two sizes, and the larger one may cost a little more than its share. Memory is what was
//! allocated in all, which is no less than what was held at any time.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_authz::User;
use lockstep_catalog::{Resource, Served, Verb, VersionIndex};
use lockstep_kinds::{Table, TypeId};
use lockstep_merge::managers::Force;
use lockstep_object::incoming::FieldValidation;
use lockstep_object::metadata::{Scope, Seconds};
use lockstep_object::{ApiError, Map, Object, Status, Value, json as text};
use lockstep_testkit::bodies::{Fill, Place, customs, json_patches};
use lockstep_write::offline::Offline;
use lockstep_write::{
    Document, DryRun, Environment as _, Input, Internal, Notes, ResourceRoute, WriteOptions,
    WriteOrigin, WriteRequest, decode_patch,
};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static COUNTING: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The smaller body; the larger one has [`GROWTH`] times as many bytes.
const BYTES: usize = 4 << 10;
const GROWTH: usize = 4;
/// The larger body may cost so many times the smaller one.
const COST_GROWTH_MAX: u64 = 7;
/// Below this many nanoseconds of processor time, noise decides how a cost grows.
const FLOOR_NANOSECONDS: u64 = 40_000_000;
/// Processor time of one body in a debug build, on a slow machine.
const NANOSECONDS_MAX: u64 = 4_000_000_000;
/// Bytes that are allocated for one byte of a body.
const ALLOCATED_PER_BYTE_MAX: usize = 6000;
/// Bytes that are allocated whatever the body is.
const ALLOCATED_FLOOR: usize = 4 << 20;
/// Bytes that a JSON patch allocates whatever its size is: it may copy a part of the object again and again, up to a
/// limit of its own.
const PATCHED_FLOOR: usize = 256 << 20;
/// Bytes of a response about a bad body.
const STATUS_BYTES_MAX: usize = 256 << 10;

/// Cost of a write.
#[derive(Debug, Clone, Copy)]
struct Cost {
    nanoseconds: u64,
    allocated: usize,
}

impl Cost {
    fn of(work: impl FnOnce()) -> Self {
        let region = Region::new(COUNTING);
        let began = thread_nanoseconds();
        work();
        Self {
            nanoseconds: thread_nanoseconds() - began,
            allocated: region.change().bytes_allocated,
        }
    }
}

fn thread_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).expect("a thread's time is positive");
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).expect("a positive rest")
}

/// A server in memory with the namespace `default`.
fn offline() -> Offline {
    let offline = Offline::default();
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"},
    });
    let namespace = Object::from_value(namespace).expect("a namespace");
    let place = ("", "namespaces", "default");
    offline.create(WriteOrigin::System, place, namespace, now());
    offline
}

fn now() -> Seconds {
    Seconds::from_unix(1_000_000_000).expect("a time")
}

fn route(resource: &Resource, verb: Verb, name: &str) -> ResourceRoute {
    let is_namespaced = resource.scope == Scope::Namespaced;
    ResourceRoute {
        verb,
        group: resource.group.to_string(),
        version: resource.versions[VersionIndex::PREFERRED].name.to_string(),
        namespace: if is_namespaced { "default" } else { "" }.to_owned(),
        resource: resource.plural.to_string(),
        name: name.to_owned(),
        subresource: String::new(),
    }
}

fn send(
    offline: &Offline,
    resource: &Resource,
    verb: Verb,
    name: &str,
    (input, source): (Input, &str),
) -> Result<u16, ApiError> {
    let route = route(resource, verb, name);
    let served = offline.registry().find(&route).expect("it is served");
    let notes = Notes::default();
    let mut request = WriteRequest {
        route: &route,
        served,
        input: Some(input),
        source: Bytes::copy_from_slice(source.as_bytes()),
        options: WriteOptions {
            dry_run: DryRun::No,
            field_manager: "tester".to_owned(),
            force: Force::No,
            field_validation: FieldValidation::Warn,
            is_protobuf: false,
            given: Map::new(),
        },
        now: now(),
        origin: WriteOrigin::Client,
        user: &User::new("tester", [""; 0]),
        permits: &|_| Ok(()),
        notes: &notes,
    };
    offline.write(&mut request).map(|answer| answer.code)
}

/// Form of a request with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Create,
    Merge,
    Strategic,
    Apply,
    JsonPatch,
}

/// Sends a body as the server does, from its bytes to a `Status`.
fn submit(
    offline: &Offline,
    resource: &Arc<Resource>,
    form: Form,
    body: &str,
) -> Result<u16, String> {
    let patch = |media_type| {
        let served = Served {
            resource: Arc::clone(resource),
            version: VersionIndex::PREFERRED,
        };
        decode_patch(&served, None, media_type, body.as_bytes()).map(Input::Patch)
    };
    let input = match form {
        Form::Create => text::decode(body.as_bytes())
            .map_err(|error| ApiError::bad_request(error.to_string()))
            .map(|decoded| {
                Input::Object(Document {
                    value: decoded.value,
                    duplicates: decoded.duplicates,
                })
            }),
        Form::Merge => patch("application/merge-patch+json"),
        Form::Strategic => patch("application/strategic-merge-patch+json"),
        Form::JsonPatch => patch("application/json-patch+json"),
        Form::Apply => text::decode(body.as_bytes())
            .map_err(|error| ApiError::bad_request(error.to_string()))
            .map(|decoded| Input::Apply(decoded.value)),
    };
    let (verb, name) = match form {
        Form::Create => (Verb::Create, ""),
        _ => (Verb::Patch, "x"),
    };
    let sent = input.and_then(|input| send(offline, resource, verb, name, (input, body)));
    sent.map_err(|error| text::encode_to_string(&Status::from(&error).to_value()))
}

/// Faults of a body in two sizes.
fn faults(
    (what, floor): (&str, usize),
    body: impl Fn(usize) -> String,
    submit: impl Fn(&str) -> Result<u16, String>,
) -> Option<String> {
    let measure = |bytes| {
        let body = body(bytes);
        let mut answer = Ok(0);
        let cost = Cost::of(|| answer = submit(&body));
        (cost, body.len(), answer)
    };
    let (small, ..) = measure(BYTES);
    let (large, bytes, answer) = measure(BYTES * GROWTH);
    let fault = |why: &str| {
        Some(format!(
            "{what}: {why}: {small:?} to {large:?} for {bytes} bytes"
        ))
    };
    if let Err(status) = &answer
        && (status.len() > STATUS_BYTES_MAX || status.contains("\"code\":500"))
    {
        return fault(&format!(
            "answered {} bytes: {}",
            status.len(),
            &status[..status.len().min(200)]
        ));
    }
    if large.allocated > floor + bytes * ALLOCATED_PER_BYTE_MAX {
        return fault("memory");
    }
    if large.nanoseconds > NANOSECONDS_MAX {
        return fault("time");
    }
    let expected = small.nanoseconds.max(FLOOR_NANOSECONDS / COST_GROWTH_MAX) * COST_GROWTH_MAX;
    if large.nanoseconds > expected {
        // Measured again, as a machine may have been busy with something else.
        let (again, ..) = measure(BYTES * GROWTH);
        if again.nanoseconds > expected {
            return fault("growth of time");
        }
    }
    None
}

/// The kinds that can be created, with their types.
fn kinds(offline: &Offline) -> Vec<(Arc<Resource>, TypeId)> {
    let registry = offline.registry();
    let created = registry.iter().filter(|resource| {
        resource.verbs.contains(&Verb::Create) && resource.verbs.contains(&Verb::Patch)
    });
    let typed = created.filter_map(|resource| {
        let version = &resource.versions[VersionIndex::PREFERRED].name;
        let id = Table::builtin().kind(&resource.group, version, &resource.kind)?;
        Some((Arc::clone(resource), id))
    });
    typed.collect()
}

fn api_version(resource: &Resource) -> String {
    let version = &resource.versions[VersionIndex::PREFERRED].name;
    match &*resource.group {
        "" => version.to_string(),
        group => format!("{group}/{version}"),
    }
}

/// Each list of each struct once, in the first kind that has it, with these contents.
fn created(fills: &[Fill]) {
    let offline = offline();
    let mut seen = std::collections::BTreeSet::new();
    let mut found = Vec::new();
    for (resource, id) in kinds(&offline) {
        let version = api_version(&resource);
        for place in Place::all(id) {
            if !seen.insert((place.owner, place.field.name)) {
                continue;
            }
            for fill in fills {
                let what = format!("{} {} {fill:?}", resource.kind, place.path());
                let body = |bytes| place.body((&version, &resource.kind), *fill, bytes);
                found.extend(faults((&what, ALLOCATED_FLOOR), body, |body| {
                    submit(&offline, &resource, Form::Create, body)
                }));
            }
        }
    }
    assert_eq!(found, [""; 0], "{}", found.join("\n"));
}

#[test]
fn lists_of_empty_elements_cost_what_their_bytes_are() {
    created(&[Fill::Empty]);
}

#[test]
fn lists_of_equal_elements_cost_what_their_bytes_are() {
    created(&[Fill::Equal]);
}

#[test]
fn lists_of_distinct_elements_cost_what_their_bytes_are() {
    created(&[Fill::Distinct]);
}

#[test]
fn lists_of_wrong_elements_cost_what_their_bytes_are() {
    created(&[Fill::Wrong]);
}

#[test]
fn lists_beside_each_other_cost_what_their_bytes_are() {
    created(&[Fill::Siblings]);
}

#[test]
fn unknown_and_repeated_fields_and_long_keys_cost_what_their_bytes_are() {
    created(&[Fill::Unknown, Fill::Repeated, Fill::Long]);
}

/// Lists of objects as each kind of patch has them, of the kinds whose lists merge in all ways.
#[test]
fn patches_cost_what_their_bytes_are() {
    let mut found = Vec::new();
    for (plural, object) in [
        (
            "pods",
            json!({"spec": {"containers": [{"name": "c", "image": "i"}]}}),
        ),
        ("services", json!({"spec": {"ports": [{"port": 1}]}})),
        ("configmaps", json!({"data": {}})),
    ] {
        let offline = offline();
        let (resource, id) = kinds(&offline)
            .into_iter()
            .find(|(resource, _)| &*resource.plural == plural)
            .expect("it is served");
        let version = api_version(&resource);
        let mut object = object;
        object["apiVersion"] = version.as_str().into();
        object["kind"] = (&*resource.kind).into();
        object["metadata"] = json!({"name": "x", "namespace": "default"});
        let stored = Object::from_value(object).expect("a map");
        let key = ("", plural, "default/x");
        let created = offline.create(WriteOrigin::System, key, stored, now());
        assert!(
            matches!(created, Internal::Done(_)),
            "{plural}: {created:?}"
        );
        for place in Place::all(id) {
            let is_deep = place.path().matches(['.', '[']).count() > 2;
            for (form, fill) in [
                (Form::Merge, Fill::Equal),
                (Form::Strategic, Fill::Equal),
                (Form::Strategic, Fill::Distinct),
                (Form::Apply, Fill::Distinct),
            ] {
                if is_deep {
                    continue;
                }
                let what = format!("{plural} {} {form:?} {fill:?}", place.path());
                let body = |bytes| place.body((&version, &resource.kind), fill, bytes);
                found.extend(faults((&what, ALLOCATED_FLOOR), body, |body| {
                    submit(&offline, &resource, form, body)
                }));
            }
        }
        for (at, (name, _)) in json_patches("/spec/ports", 0).into_iter().enumerate() {
            let body = |bytes| json_patches("/spec/ports", bytes).swap_remove(at).1;
            let what = format!("{plural} {name}");
            found.extend(faults((&what, PATCHED_FLOOR), body, |body| {
                submit(&offline, &resource, Form::JsonPatch, body)
            }));
        }
    }
    assert_eq!(found, [""; 0], "{}", found.join("\n"));
}

/// A definition with one schema of the spec.
fn definition(schema: &Value) -> Object {
    let spec = json!({"type": "object", "properties": {"l": schema, "m": {
        "type": "object", "additionalProperties": {"type": "object", "properties": {"l": schema}},
    }}});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": spec},
            }}}],
        },
    });
    Object::from_value(crd).expect("a map")
}

#[test]
fn custom_resources_cost_what_their_bytes_are() {
    let mut found = Vec::new();
    for (at, (name, schema, _)) in customs(0).into_iter().enumerate() {
        let mut offline = offline();
        let served = offline.serve(&definition(&schema), now());
        assert!(served.is_ok(), "{name}: {served:?}");
        let registry = offline.registry();
        let resource = registry.resource("ex.io", "widgets").expect("it is served");
        for form in [Form::Create, Form::Apply] {
            let body = |bytes| {
                let spec = customs(bytes).swap_remove(at).2;
                format!(
                    "{{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Widget\",\"metadata\":{{\"name\":\"x\"}},\"spec\":{spec}}}"
                )
            };
            let what = format!("{name} {form:?}");
            found.extend(faults((&what, ALLOCATED_FLOOR), body, |body| {
                submit(&offline, resource, form, body)
            }));
        }
    }
    assert_eq!(found, [""; 0], "{}", found.join("\n"));
}

/// Each element of a list gets a large default: together they are too large long before all are there.
#[test]
fn defaults_that_blow_an_object_up_are_refused_before_they_take_their_memory() {
    const DEFAULT_BYTES: usize = 32 << 10;
    const ELEMENTS: usize = 100_000;
    let text = json!({"type": "string", "default": "x".repeat(DEFAULT_BYTES)});
    let schema = json!({"type": "array", "items": {"type": "object", "properties": {"t": text}}});
    let mut offline = offline();
    let served = offline.serve(&definition(&schema), now());
    assert!(served.is_ok(), "{served:?}");
    let registry = offline.registry();
    let resource = registry.resource("ex.io", "widgets").expect("it is served");
    let list = vec!["{}"; ELEMENTS].join(",");
    let body = format!(
        "{{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Widget\",\"metadata\":{{\"name\":\"x\"}},\"spec\":{{\"l\":[{list}]}}}}"
    );
    let mut answer = Ok(0);
    let cost = Cost::of(|| answer = submit(&offline, resource, Form::Create, &body));
    let status = answer.expect_err("it is too large");
    assert!(status.contains("\"code\":413"), "{status}");
    let all = ELEMENTS * DEFAULT_BYTES;
    assert!(
        cost.allocated < all / 8,
        "{} of {all} bytes",
        cost.allocated
    );
}
