//! Cost of admission policies: what they add to the create of a pod, and what thousands of bound ones hold.
//!
//! Every figure is processor time of the server. Pods are created with `dryRun=All`, so that no store is part of it.

use serde_json::{Value, json};

use crate::client::{Call, Client};
use crate::load::Clients;
use crate::parts::{SETTLE, Settings, measure, microseconds, milliseconds};
use crate::server::{Program, Server, now};
use crate::table::{Bar, Measure};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings";
/// Pods that are created for one figure.
const CREATES: usize = 2_000;
/// Upper bound on the wait until policies are in force; a kube-apiserver needs a second or more.
const IN_FORCE_MAX: std::time::Duration = std::time::Duration::from_secs(120);
const KIB: f64 = 1_000.0;

const BASE: Measure = Measure {
    name: "create of a pod, dry run, CPU",
    unit: "µs",
    reference: Some(3_000.0),
    bar: Bar::None,
};
const ONE: Measure = measure(
    "one applyConfiguration adds, CPU",
    "µs",
    2_500.0,
    Bar::NoMoreThan(150.0),
);
const TEN: Measure = measure(
    "ten applyConfigurations add, CPU",
    "µs",
    20_000.0,
    Bar::NoMoreThan(1_000.0),
);
const TEN_TWICE: Measure = measure(
    "ten with IfNeeded add, CPU",
    "µs",
    44_000.0,
    Bar::NoMoreThan(2_000.0),
);
const FIFTY: Measure = measure(
    "fifty that matchConditions reject add, CPU",
    "µs",
    18_000.0,
    Bar::NoMoreThan(500.0),
);
const BOUND: Measure = measure("bound policy, CPU", "ms", 20.0, Bar::NoMoreThan(2.0));
const BOUND_MEMORY: Measure = measure("bound policy, memory", "KB", 400.0, Bar::NoMoreThan(20.0));
const MANY_MEMORY: Measure = Measure {
    name: "all bound policies, memory",
    unit: "MB",
    reference: None,
    bar: Bar::NoMoreThan(150.0),
};
const OTHERS: Measure = Measure {
    name: "create of a pod beside policies for other resources, more CPU",
    unit: "µs",
    reference: None,
    bar: Bar::NoMoreThan(5.0),
};

/// A set of policies that are in force together.
struct Load {
    measure: Measure,
    count: usize,
    reinvocation: &'static str,
    condition: &'static str,
}

const LOADS: [Load; 4] = [
    Load {
        measure: ONE,
        count: 1,
        reinvocation: "Never",
        condition: "true",
    },
    Load {
        measure: TEN,
        count: 10,
        reinvocation: "Never",
        condition: "true",
    },
    Load {
        measure: TEN_TWICE,
        count: 10,
        reinvocation: "IfNeeded",
        condition: "true",
    },
    Load {
        measure: FIFTY,
        count: 50,
        reinvocation: "Never",
        condition: "object.metadata.?generateName.orValue('') == 'other-'",
    },
];

pub(crate) async fn run(
    program: &Program,
    settings: Settings,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let server = Server::start(program).await?;
    let clients = Clients::connect(&server, 1).await?;
    let client = clients.first();
    // A kube-apiserver alone makes no service accounts, and refuses pods without one.
    let account = r#"{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}"#;
    let path = "/api/v1/namespaces/default/serviceaccounts/default?fieldManager=bench&force=true";
    client.send(&Call::apply(path, account.to_owned())).await?;
    let creates = |_| Call::post("/api/v1/namespaces/default/pods?dryRun=All", pod());
    // Caches and allocators settle with the first requests.
    clients.send(CREATES / 4, creates).await?;
    let base = microseconds(clients.cost(&server, CREATES, creates).await?);
    add(BASE, base);
    for load in LOADS {
        for number in 0..load.count {
            bind(client, number, "pods", load.reinvocation, load.condition).await?;
        }
        let is_met = load.condition == "true";
        until_mutated(client, if is_met { load.count } else { 0 }).await?;
        clients.send(CREATES / 4, creates).await?;
        let with = microseconds(clients.cost(&server, CREATES, creates).await?);
        add(load.measure, with - base);
        for path in [BINDINGS, POLICIES] {
            client.send(&Call::delete(path)).await?;
        }
        until_mutated(client, 0).await?;
    }
    many(&server, &clients, settings.policies, base, add).await
}

/// Binds policies for a resource that nothing here writes.
async fn many(
    server: &Server,
    clients: &Clients,
    count: usize,
    base: f64,
    add: &mut impl FnMut(Measure, f64),
) -> anyhow::Result<()> {
    let (memory, time) = (server.megabytes()?, server.processor_time()?);
    for number in 0..count {
        bind(clients.first(), number, "deployments", "Never", "true").await?;
    }
    tokio::time::sleep(SETTLE).await;
    let policies = f64::from(u32::try_from(count.max(1))?);
    let took = milliseconds(server.processor_time()?.saturating_sub(time));
    let held = server.megabytes()? - memory;
    add(BOUND, took / policies);
    add(BOUND_MEMORY, held * KIB / policies);
    add(MANY_MEMORY, held);
    let creates = |_| Call::post("/api/v1/namespaces/default/pods?dryRun=All", pod());
    let beside = clients.cost(server, CREATES, creates).await?;
    add(OTHERS, microseconds(beside) - base);
    Ok(())
}

/// Makes a policy that sets a label of its own, with its binding.
async fn bind(
    client: &Client,
    number: usize,
    resource: &str,
    reinvocation: &str,
    condition: &str,
) -> anyhow::Result<()> {
    let name = format!("policy-{number}");
    let group = if resource == "pods" { "" } else { "apps" };
    let expression = format!(
        r#"Object{{metadata: Object.metadata{{labels: {{"label-{number}": "payments"}}}}}}"#
    );
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": { "name": name },
        "spec": {
            "matchConstraints": { "resourceRules": [{
                "apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource],
            }] },
            "matchConditions": [{ "name": "condition", "expression": condition }],
            "reinvocationPolicy": reinvocation,
            "mutations": [{
                "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression },
            }],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": { "name": name },
        "spec": { "policyName": name },
    });
    client
        .send(&Call::post(POLICIES, policy.to_string()))
        .await?;
    client
        .send(&Call::post(BINDINGS, binding.to_string()))
        .await?;
    Ok(())
}

/// Creates pods until one has as many labels of policies as there are policies.
async fn until_mutated(client: &Client, count: usize) -> anyhow::Result<()> {
    let begun = now();
    loop {
        let call = Call::post("/api/v1/namespaces/default/pods?dryRun=All", pod());
        let made: Value = serde_json::from_slice(&client.send(&call).await?)?;
        let labels = made.pointer("/metadata/labels").and_then(Value::as_object);
        let of_policies = |labels: &serde_json::Map<String, Value>| {
            labels
                .keys()
                .filter(|key| key.starts_with("label-"))
                .count()
        };
        if labels.map_or(0, of_policies) == count {
            return Ok(());
        }
        anyhow::ensure!(
            begun.elapsed() < IN_FORCE_MAX,
            "policies do not come into force"
        );
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

/// A pod with three containers.
fn pod() -> String {
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/{name}:1.2.3"),
            "ports": [{ "containerPort": 8080 }],
            "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "2" }],
            "resources": { "limits": { "cpu": "100m", "memory": "64Mi" } },
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "bench", "labels": { "app": "bench" } },
        "spec": {
            "automountServiceAccountToken": false,
            "containers": [container("a"), container("b"), container("c")],
        },
    })
    .to_string()
}
