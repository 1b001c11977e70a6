//! Decoding cost of one object as JSON and as protobuf, from body bytes to the normalized form.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_kinds::{Table, proto, typed};
use lockstep_object::json;
use serde_json::{Value, json};

/// A deployment as people write them, with so many containers.
fn deployment(containers: usize) -> Value {
    let container = |at: usize| {
        json!({
            "name": format!("container-{at}"),
            "image": "registry.example.com/team/application:1.2.3",
            "args": ["--listen=:8080", "--verbose"],
            "env": [
                {"name": "MODE", "value": "production"},
                {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            ],
            "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 5},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        })
    };
    let labels = json!({"app": "application", "tier": "backend"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "application", "namespace": "default", "labels": labels},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": (0..containers).map(container).collect::<Vec<_>>(),
                    "volumes": [{"name": "data", "emptyDir": {}}],
                },
            },
        },
    })
}

fn bodies(criterion: &mut Criterion) {
    let table = Table::builtin();
    let id = table.kind("apps", "v1", "Deployment");
    let id = id.expect("the table has deployments");
    for containers in [1, 10] {
        let object = deployment(containers);
        let text = object.to_string().into_bytes();
        let fields = object.as_object().expect("it is a map");
        let message = proto::encode(table, id, fields).expect("it has a message");
        let mut group = criterion.benchmark_group(format!("deployment of {containers} containers"));
        group.bench_function("JSON", |bench| {
            bench.iter(|| {
                let decoded = json::decode(black_box(&text)).expect("it is JSON");
                let Value::Object(mut fields) = decoded.value else {
                    unreachable!("it is a map");
                };
                let mut unknown = Vec::new();
                typed::read(table, id, &mut fields, &mut unknown).expect("it is a deployment");
                fields
            });
        });
        group.bench_function("protobuf", |bench| {
            bench.iter(|| {
                let mut fields =
                    proto::decode(table, id, black_box(&message)).expect("it is a message");
                let mut unknown = Vec::new();
                typed::read(table, id, &mut fields, &mut unknown).expect("it is a deployment");
                fields
            });
        });
        group.finish();
    }
}

criterion_group!(benches, bodies);
criterion_main!(benches);
