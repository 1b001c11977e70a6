//! Random sequences of writes and of edits of a CRD, against the raw bytes and against a server without gates.

use serde_json::{Map, Value, json};

use super::gated::Dice;
use super::twins::{Asked, Seen, Twins, thing};

/// Paths that may be gated. All but the last ones are in the schemas of both versions.
const PATHS: [&str; 25] = [
    ".spec.replicas",
    ".spec.mode",
    ".spec.note",
    ".spec.port",
    ".spec.foo",
    ".spec.foo.qux",
    ".spec.foo.deep.y",
    ".spec.retention.days",
    ".spec.jobs[*].probe",
    ".spec.jobs[*].image",
    ".spec.jobs[*].probe.ports[*].note",
    ".spec.limits[*].cpu",
    ".spec.limits['gpu']",
    ".spec.open",
    ".spec.open.known",
    ".spec.tmpl.spec.size",
    ".spec.steps",
    ".spec.ports[*].note",
    ".spec.whole.a",
    ".status",
    ".status.note",
    ".status.conds[*].text",
    ".spec.extra",
    ".spec.ratio",
    ".spec.tags",
];

/// The fields of v1 that a version does not have.
fn unsaid(version: &str) -> &'static [&'static str] {
    if version == "v2" {
        &["extra", "ratio", "tags"]
    } else {
        &[]
    }
}

fn spec_schema(version: &str) -> Value {
    let (number, text) = (json!({"type": "integer"}), json!({"type": "string"}));
    let filled = |kind: &str, default: Value| json!({"type": kind, "default": default});
    let structure = |properties: Value| json!({"type": "object", "properties": properties});
    let list = |keys: Value, items: Value| {
        json!({
            "type": "array", "items": items,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys,
        })
    };
    let mut port =
        structure(json!({"port": number, "proto": filled("string", json!("TCP")), "note": text}));
    port["required"] = json!(["port"]);
    let ports = list(json!(["port", "proto"]), port);
    let probe = structure(json!({"path": text, "ports": ports}));
    let mut job = structure(json!({"name": text, "image": text, "probe": probe}));
    job["required"] = json!(["name"]);
    let deep = structure(json!({"x": number, "y": filled("integer", json!(5))}));
    let mut retention = structure(json!({"days": filled("integer", json!(7)), "size": number}));
    retention["default"] = json!({"days": 7, "size": 1});
    let mut open = structure(json!({"known": text}));
    open["x-kubernetes-preserve-unknown-fields"] = true.into();
    let mut inner = structure(json!({"spec": structure(json!({"size": number}))}));
    inner["x-kubernetes-embedded-resource"] = true.into();
    let mut whole = structure(json!({"a": number, "b": number}));
    whole["x-kubernetes-map-type"] = "atomic".into();
    let mut spec = structure(json!({
        "image": text, "replicas": number, "ratio": {"type": "number"}, "mode": filled("string", json!("fast")),
        "note": {"type": "string", "nullable": true}, "port": {"x-kubernetes-int-or-string": true},
        "foo": structure(json!({"baz": number, "qux": number, "deep": deep})), "retention": retention,
        "jobs": list(json!(["name"]), job), "open": open, "tmpl": inner, "whole": whole, "ports": ports, "extra": text,
        "limits": {"type": "object", "additionalProperties": structure(json!({"cpu": number, "mem": number}))},
        "steps": {"type": "array", "items": structure(json!({"run": text}))},
        "tags": {"type": "array", "items": text, "x-kubernetes-list-type": "set"},
    }));
    for field in unsaid(version) {
        spec["properties"].as_object_mut().unwrap().remove(*field);
    }
    let mut cond = structure(json!({"type": text, "text": text}));
    cond["required"] = json!(["type"]);
    let status =
        structure(json!({"ready": number, "note": text, "conds": list(json!(["type"]), cond)}));
    structure(json!({"spec": spec, "status": status}))
}

/// A CRD with some gates in some states, in its spec or in its annotation, whose objects are stored in either version.
fn crd(dice: &mut Dice) -> Value {
    let storage = dice.pick(&["v1", "v1", "v2"]);
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == storage,
            "schema": {"openAPIV3Schema": spec_schema(name)},
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready",
            }},
        })
    };
    let known = PATHS.len() - unsaid(storage).len();
    let mut gates: Vec<Value> = Vec::new();
    for path in &PATHS[..known] {
        let is_alone = gates.is_empty() || dice.roll(2) == 0;
        match dice.roll(3) {
            0 => {}
            _ if is_alone => {
                let (stage, default) = dice.pick(&[
                    ("alpha", None),
                    ("alpha", Some(false)),
                    ("beta", None),
                    ("deprecated", Some(false)),
                    ("deprecated", Some(true)),
                ]);
                let enabled = dice.pick(&[None, Some(false), Some(false), Some(true)]);
                let name = format!("G{}x{}", gates.len(), dice.roll(2));
                gates.push(json!({
                    "name": name, "preRelease": stage, "default": default, "enabled": enabled, "fieldPaths": [path],
                }));
            }
            _ => {
                let last = gates.last_mut().unwrap();
                last["fieldPaths"].as_array_mut().unwrap().push(json!(path));
            }
        }
    }
    if dice.roll(2) == 0 {
        gates.reverse();
    }
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [version("v1"), version("v2")],
        },
    });
    let gates = json!({"component": "someone", "featureGates": gates});
    if gates["featureGates"] == json!([]) {
        return crd;
    }
    if dice.roll(4) == 0 {
        crd["metadata"]["annotations"] =
            json!({"lockstep.dev/custom-feature-gates": gates.to_string()});
    } else {
        crd["spec"]["customFeatureGates"] = gates;
    }
    crd
}

/// Generator of a field's value.
type Make<'a> = &'a dyn Fn(&mut Dice) -> Value;

/// Some of these fields.
fn some(dice: &mut Dice, fields: &[(&str, Make<'_>)]) -> Value {
    let mut made = Map::new();
    for (name, value) in fields {
        if dice.roll(2) == 0 {
            made.insert((*name).to_owned(), value(dice));
        }
    }
    Value::Object(made)
}

fn number(dice: &mut Dice) -> Value {
    dice.roll(4).into()
}

fn text(dice: &mut Dice) -> Value {
    dice.pick(&["", "a", "b"]).into()
}

/// Elements with different keys, in some order.
fn elements(dice: &mut Dice, element: &dyn Fn(&mut Dice, usize) -> Value) -> Value {
    let mut made: Vec<Value> = Vec::new();
    for at in 0..4 {
        if dice.roll(2) == 0 {
            let made_of = element(dice, at);
            let place = usize::try_from(dice.roll(2)).unwrap() * made.len();
            made.insert(place, made_of);
        }
    }
    made.into()
}

fn ports(dice: &mut Dice) -> Value {
    elements(dice, &|dice, at| {
        let mut port = some(dice, &[("note", &text)]);
        port["port"] = (at / 2).into();
        match at % 2 {
            0 => port["proto"] = "UDP".into(),
            _ if dice.roll(2) == 0 => port["proto"] = "TCP".into(),
            _ => {}
        }
        port
    })
}

fn jobs(dice: &mut Dice) -> Value {
    elements(dice, &|dice, at| {
        let probe = |dice: &mut Dice| some(dice, &[("path", &text), ("ports", &ports)]);
        let mut job = some(
            dice,
            &[("image", &text), ("probe", &probe), ("probe", &probe)],
        );
        job["name"] = format!("j{at}").into();
        job
    })
}

fn spec(dice: &mut Dice) -> Value {
    let deep = |dice: &mut Dice| some(dice, &[("x", &number), ("y", &number)]);
    let limit = |dice: &mut Dice| some(dice, &[("cpu", &number), ("mem", &number)]);
    let size = |dice: &mut Dice| some(dice, &[("size", &number)]);
    let inner = |dice: &mut Dice| {
        let mut inner = some(dice, &[("spec", &size)]);
        inner["apiVersion"] = "v1".into();
        inner["kind"] = "Inner".into();
        inner["metadata"] = json!({"name": dice.pick(&["a", "b"])});
        inner
    };
    let note = |dice: &mut Dice| {
        dice.pick(&[Value::Null, json!("n"), json!("m")].each_ref())
            .clone()
    };
    let port = |dice: &mut Dice| {
        dice.pick(&[&json!(80), &json!("80"), &json!("http")])
            .clone()
    };
    // Numbers beyond those that count, where two texts may be one number.
    let ratio = |dice: &mut Dice| {
        let numbers = [
            json!(1),
            json!(1.0),
            json!(0.5),
            json!(1e19),
            json!(9_007_199_254_740_993_i64),
        ];
        dice.pick(&numbers.each_ref()).clone()
    };
    let nested =
        |dice: &mut Dice| some(dice, &[("baz", &number), ("qux", &number), ("deep", &deep)]);
    let retention = |dice: &mut Dice| some(dice, &[("days", &number), ("size", &number)]);
    let limits = |dice: &mut Dice| some(dice, &[("x", &limit), ("y", &limit), ("gpu", &limit)]);
    let any = |dice: &mut Dice| json!({"any": number(dice)});
    let open = |dice: &mut Dice| some(dice, &[("known", &text), ("other", &any)]);
    let steps = |dice: &mut Dice| elements(dice, &|dice, _| json!({"run": text(dice)}));
    let tags = |dice: &mut Dice| elements(dice, &|_, at| format!("t{at}").into());
    let whole = |dice: &mut Dice| some(dice, &[("a", &number), ("b", &number)]);
    // Now and then something is of another type than it should be.
    let replicas = |dice: &mut Dice| match dice.roll(12) {
        0 => text(dice),
        _ => number(dice),
    };
    some(
        dice,
        &[
            ("image", &text),
            ("replicas", &replicas),
            ("ratio", &ratio),
            ("mode", &text),
            ("note", &note),
            ("port", &port),
            ("foo", &nested),
            ("retention", &retention),
            ("jobs", &jobs),
            ("ports", &ports),
            ("limits", &limits),
            ("open", &open),
            ("tmpl", &inner),
            ("steps", &steps),
            ("tags", &tags),
            ("whole", &whole),
            ("extra", &text),
        ],
    )
}

fn status(dice: &mut Dice) -> Value {
    let conds = |dice: &mut Dice| {
        elements(dice, &|dice, at| {
            let mut cond = some(dice, &[("text", &text)]);
            cond["type"] = format!("c{at}").into();
            cond
        })
    };
    some(
        dice,
        &[("ready", &number), ("note", &text), ("conds", &conds)],
    )
}

/// Some of the fields of a patch become wishes to remove them.
fn with_nulls(dice: &mut Dice, value: &mut Value) {
    for below in value.as_object_mut().into_iter().flat_map(Map::values_mut) {
        if dice.roll(5) == 0 {
            *below = Value::Null;
        } else {
            with_nulls(dice, below);
        }
    }
}

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// Random request to an existing object.
fn asked(dice: &mut Dice) -> Asked {
    let version = dice.pick(&["v1", "v1", "v2"]);
    let (spec, status) = (spec(dice), status(dice));
    let manager = dice.pick(&["alice", "bob"]);
    let ask = |method, part: &str, query: &str, media_type, body| Asked {
        method,
        rest: format!("{part}?fieldManager={manager}{query}"),
        version,
        media_type,
        body,
        unsaid: unsaid(version),
    };
    let whole = thing(version, &spec, &status);
    let mut wish = thing(version, &spec, &Value::Null);
    for field in unsaid(version) {
        // An apply must not set fields that are not in the schema of its version.
        wish["spec"].as_object_mut().unwrap().remove(*field);
    }
    match dice.roll(12) {
        0 | 1 => ask("PUT", "", "", JSON, whole),
        2 => {
            let mut whole = whole;
            whole["metadata"]["managedFields"] = json!([]);
            ask("PUT", "", "", JSON, whole)
        }
        3 => {
            let mut patch = json!({"spec": spec});
            with_nulls(dice, &mut patch["spec"]);
            ask("PATCH", "", "", MERGE, patch)
        }
        4 => {
            let patch = json!([
                {"op": "add", "path": "/spec", "value": spec},
                {"op": "add", "path": "/spec/replicas", "value": number(dice)},
                {"op": "remove", "path": "/spec/replicas"},
            ]);
            ask("PATCH", "", "", PATCH, patch)
        }
        5 => ask("PATCH", "", "", APPLY, wish),
        6 => ask("PATCH", "", "&force=true", APPLY, wish),
        7 => ask("PUT", "/status", "", JSON, whole),
        8 => {
            let mut patch = json!({"status": status});
            with_nulls(dice, &mut patch["status"]);
            ask("PATCH", "/status", "", MERGE, patch)
        }
        9 => ask(
            "PATCH",
            "/status",
            "&force=true",
            APPLY,
            thing(version, &Value::Null, &status),
        ),
        10 => {
            let scale = json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": "t", "namespace": "default"}, "spec": {"replicas": dice.roll(5)},
            });
            ask("PUT", "/scale", "", JSON, scale)
        }
        _ => ask(
            "PATCH",
            "/scale",
            "",
            MERGE,
            json!({"spec": {"replicas": dice.roll(5)}}),
        ),
    }
}

fn made(dice: &mut Dice) -> Asked {
    let version = dice.pick(&["v1", "v2"]);
    Asked {
        method: "POST",
        rest: "?fieldManager=alice".to_owned(),
        version,
        media_type: JSON,
        body: thing(version, &spec(dice), &status(dice)),
        unsaid: unsaid(version),
    }
}

fn removed() -> Asked {
    Asked {
        method: "DELETE",
        rest: String::new(),
        version: "v1",
        media_type: JSON,
        body: json!({}),
        unsaid: &[],
    }
}

/// Number of sequences that each test draws in one run of CI.
const SEQUENCES: u64 = 3;

/// Seeds of one of the tests. `cargo xtask gated-writes` draws others, and more of them.
fn seeds(test: u64) -> std::ops::Range<u64> {
    let number = |variable| std::env::var(variable).ok()?.parse::<u64>().ok();
    let first = number("LOCKSTEP_GATED_SEED").unwrap_or(1);
    let count = SEQUENCES * number("LOCKSTEP_GATED_TIMES").unwrap_or(1);
    let begin = first.wrapping_add(test * count);
    begin..begin + count
}

async fn run(test: u64) {
    let mut twins = Twins::begin().await;
    for seed in seeds(test) {
        let mut dice = Dice(seed);
        twins.define(&crd(&mut dice)).await;
        twins.check(&removed(), "").await;
        twins.check(&made(&mut dice), "").await;
        for round in 0..10 {
            twins.define(&crd(&mut dice)).await;
            let what = format!("seed {seed}, round {round}");
            for _ in 0..10 {
                match dice.roll(12) {
                    0 => {
                        twins.check(&removed(), &what).await;
                        twins.check(&made(&mut dice), &what).await;
                    }
                    1 => {
                        let version = dice.pick(&["v1", "v2"]);
                        twins.check_idle(version, &what).await;
                    }
                    2 => {
                        let mut dry = asked(&mut dice);
                        dry.rest.push_str("&dryRun=All");
                        twins.check(&dry, &what).await;
                    }
                    _ => twins.check(&asked(&mut dice), &what).await,
                }
            }
        }
    }
    let Seen {
        asked,
        taken,
        acted,
        relieved,
    } = twins.seen;
    assert!(
        taken * 2 > asked && acted * 3 > asked && relieved > 0,
        "{:?}",
        twins.seen
    );
}

/// field-gates.md §14/property: whatever is written in whatever version, and whatever becomes of the CRD, a closed gate
/// changes no bytes at or below its fields; everything else is as on a server without gates, and what that one takes is taken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_gate_changes_no_bytes_whatever_is_written() {
    run(0).await;
}

/// field-gates.md §14/property: the same for other sequences, beside the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_gate_changes_no_bytes_whatever_else_is_written() {
    run(1).await;
}
