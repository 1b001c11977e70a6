//! Cost of generating the document of a group version, up to the response bytes.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use lockstep_object::json;
use lockstep_openapi::{Part, Resource, Source, v3};

const VERBS: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

fn resource(
    plural: &'static str,
    kind: &'static str,
    list_kind: &'static str,
) -> Resource<'static> {
    let part = |name, kind| Part {
        name,
        verbs: vec!["get", "patch", "update"],
        kind,
    };
    Resource {
        group: "apps",
        version: "v1",
        plural,
        kind,
        list_kind,
        is_namespaced: true,
        verbs: VERBS.to_vec(),
        parts: vec![
            part("status", None),
            part("scale", Some(["autoscaling", "v1", "Scale"])),
        ],
        patch_types: PATCHES,
        source: Source::BuiltIn,
    }
}

fn documents(criterion: &mut Criterion) {
    let apps = vec![
        resource(
            "controllerrevisions",
            "ControllerRevision",
            "ControllerRevisionList",
        ),
        resource("daemonsets", "DaemonSet", "DaemonSetList"),
        resource("deployments", "Deployment", "DeploymentList"),
        resource("replicasets", "ReplicaSet", "ReplicaSetList"),
        resource("statefulsets", "StatefulSet", "StatefulSetList"),
    ];
    criterion.bench_function("OpenAPI v3 of apps/v1", |bencher| {
        let print = |resources| {
            let document = v3::document("Kubernetes", "v1.36.0", black_box(resources));
            json::encode_ordered(&document)
        };
        bencher.iter_batched(|| apps.clone(), print, BatchSize::SmallInput);
    });
}

criterion_group!(benches, documents);
criterion_main!(benches);
