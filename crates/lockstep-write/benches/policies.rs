//! Admission policies: what they add to a request, and what a compiled policy costs.
//!
//! `cargo xtask bench admission` prints microseconds and bytes, then what policies cost a server.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::alloc::System;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockstep_admission::mutate::Tracing;
use lockstep_admission::policy::MutatingPolicy;
use lockstep_authz::{Decision, User};
use lockstep_object::{Object, Value};
use lockstep_write::offline::policies::{Review, Unbound, Workspace};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const API: &str = "admissionregistration.k8s.io/v1";
const LABEL: &str = r#"Object{metadata: Object.metadata{labels: {"team": "payments"}}}"#;

/// The fastest of several rounds, in microseconds for one run.
fn measure(mut run: impl FnMut()) -> f64 {
    let mut count = 1_u32;
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let start = Instant::now();
        (0..count).for_each(|_| run());
        let took = start.elapsed();
        best = best.min(took.as_secs_f64() * 1e6 / f64::from(count));
        if took < Duration::from_millis(20) {
            count = count.saturating_mul(4);
        }
    }
    best
}

fn object(value: Value) -> Object {
    Object::from_value(value).expect("it is a map")
}

fn pod() -> Object {
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/{name}:1.2.3"),
            "ports": [{ "containerPort": 8080 }],
            "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
            "resources": { "limits": { "cpu": "100m", "memory": "64Mi" } },
        })
    };
    object(json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "p", "labels": { "app": "p" } },
        "spec": { "containers": [container("a"), container("b"), container("c")] },
    }))
}

/// Policies with their bindings. `is_met` decides about a match condition.
fn policies(count: usize, mutation: &Value, reinvocation: &str, is_met: bool) -> Vec<Object> {
    let policies = (0..count).flat_map(|at| {
        let name = format!("policy-{at}.example.com");
        let condition = if is_met { "true" } else { r#"object.metadata.name == "other""# };
        [
            object(json!({
                "apiVersion": API, "kind": "MutatingAdmissionPolicy", "metadata": { "name": name },
                "spec": {
                    "matchConstraints": { "resourceRules": [{
                        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"],
                    }] },
                    "matchConditions": [{ "name": "c", "expression": condition }],
                    "reinvocationPolicy": reinvocation,
                    "mutations": [mutation],
                },
            })),
            object(json!({
                "apiVersion": API, "kind": "MutatingAdmissionPolicyBinding", "metadata": { "name": name },
                "spec": { "policyName": name },
            })),
        ]
    });
    policies.collect()
}

/// Microseconds of one create of a pod.
fn create(objects: &[Object]) -> f64 {
    let workspace = Workspace::new(objects, Unbound::Inert).expect("the policies are valid");
    let (pod, user) = (pod(), User::new("admin", ["system:masters"]));
    measure(|| {
        let reviewed = workspace.review(&Review {
            operation: None,
            object: Some(&pod),
            old: None,
            subresource: "",
            user: &user,
            authorizer: Arc::new(|_| Decision::allow("")),
            is_dry_run: false,
            tracing: Tracing::Off,
        });
        assert!(black_box(reviewed).is_ok_and(|reviewed| reviewed.error.is_none()));
    })
}

fn main() {
    let apply =
        json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": LABEL } });
    let patch = json!({ "patchType": "JSONPatch", "jsonPatch": {
        "expression": r#"[JSONPatch{op: "add", path: "/metadata/labels/team", value: "payments"}]"#,
    } });
    let base = create(&[]);
    println!("create of a pod with three containers: {base:.1} µs; policies add");
    for (name, objects) in [
        ("one applyConfiguration", policies(1, &apply, "Never", true)),
        ("one jsonPatch", policies(1, &patch, "Never", true)),
        (
            "ten applyConfiguration",
            policies(10, &apply, "Never", true),
        ),
        ("ten with IfNeeded", policies(10, &apply, "IfNeeded", true)),
        // A thousand objects with these are to take less than two seconds: ux.md §5.
        (
            "fifty applyConfiguration",
            policies(50, &apply, "Never", true),
        ),
        (
            "fifty that do not match",
            policies(50, &apply, "Never", false),
        ),
    ] {
        println!("  {name:<26} {:>9.1} µs", create(&objects) - base);
    }
    let one = &policies(1, &apply, "Never", true)[0];
    let compiled = measure(|| drop(black_box(MutatingPolicy::compile(one))));
    println!("compiling a policy takes {compiled:.1} µs");
    let region = Region::new(ALLOCATOR);
    let kept: Vec<MutatingPolicy> = (0..100).map(|_| MutatingPolicy::compile(one)).collect();
    let change = region.change();
    let bytes = change
        .bytes_allocated
        .saturating_sub(change.bytes_deallocated);
    println!("a compiled policy holds {} bytes", bytes / kept.len());
}
