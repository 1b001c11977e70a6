//! Other default objects of a cluster: priority levels, flow schemas and the service CIDR.

use lockstep_testkit::client::Client;
use serde_json::{Value, json};

use crate::roles::on;
use crate::server::memory;

const FLOW: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const MERGE: (&str, &str) = ("content-type", "application/merge-patch+json");

/// Names of the objects of a list, with one more thing about each.
async fn listed(client: &mut Client, path: &str, what: &str) -> Vec<String> {
    let list = client.get(path).await.json();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|item| {
            let name = item["metadata"]["name"].as_str().unwrap();
            format!("{name} {}", item.pointer(what).unwrap_or(&Value::Null))
        })
        .collect()
}

/// §12/start, §14/flows: those of upstream, under their names; what is more is told by upstream itself.
#[tokio::test]
async fn levels_and_schemas_of_flows_are_those_of_every_cluster() {
    let server = on(&memory()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let schemas = listed(
        &mut client,
        &format!("{FLOW}/flowschemas"),
        "/spec/matchingPrecedence",
    )
    .await;
    assert_eq!(
        schemas,
        [
            "catch-all 10000",
            "exempt 1",
            "global-default 9900",
            "kube-controller-manager 800",
            "kube-scheduler 800",
            "kube-system-service-accounts 900",
            "probes 2",
            "service-accounts 9000",
            "system-leader-election 100",
            "system-node-high 400",
            "system-nodes 500",
        ]
    );
    let levels = listed(
        &mut client,
        &format!("{FLOW}/prioritylevelconfigurations"),
        "/spec/limited/nominalConcurrencyShares",
    )
    .await;
    assert_eq!(
        levels,
        [
            "catch-all 5",
            "exempt null",
            "global-default 20",
            "leader-election 10",
            "node-high 40",
            "system 30",
            "workload-high 40",
            "workload-low 100",
        ]
    );
    // The default objects pass the validation that clients' objects do.
    for (plural, name) in [
        ("flowschemas", "system-node-high"),
        ("prioritylevelconfigurations", "system"),
    ] {
        let path = format!("{FLOW}/{plural}/{name}");
        let stored = client.get(&path).await.json();
        let again = client.write("PUT", &path, &stored).await.json();
        assert_eq!(again["spec"], stored["spec"], "{name}");
        assert_eq!(again["metadata"]["generation"], 1, "{name}");
    }
}

/// §14/flows: the annotation says whose spec counts; two of each kind are the server's whatever it says.
#[tokio::test]
async fn schemas_of_flows_are_made_again_and_repaired_unless_they_are_somebodys() {
    let store = memory();
    let server = on(&store).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let schema = |name: &str| format!("{FLOW}/flowschemas/{name}");
    let gone = client.send("DELETE", &schema("probes"), &[], "").await;
    assert_eq!(gone.status, 200);
    let theirs = json!({ "metadata": { "annotations": { "apf.kubernetes.io/autoupdate-spec": "false" } },
        "spec": { "matchingPrecedence": 7 } });
    let moved = json!({ "spec": { "matchingPrecedence": 7 } });
    for (name, change) in [
        ("system-nodes", &theirs),
        ("kube-scheduler", &moved),
        ("catch-all", &theirs),
    ] {
        let changed = client
            .send("PATCH", &schema(name), &[MERGE], change.to_string())
            .await;
        assert_eq!(changed.json()["spec"]["matchingPrecedence"], 7, "{name}");
    }
    drop(client);
    server.stop().await;
    let server = on(&store).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    for (name, precedence, auto, generation) in [
        ("probes", 2, "true", 1),
        ("system-nodes", 7, "false", 2),
        ("kube-scheduler", 800, "true", 3),
        ("catch-all", 10_000, "true", 3),
    ] {
        let found = client.get(&schema(name)).await.json();
        let is = (
            &found["spec"]["matchingPrecedence"],
            &found["metadata"]["annotations"]["apf.kubernetes.io/autoupdate-spec"],
            &found["metadata"]["generation"],
        );
        assert_eq!(
            is,
            (&json!(precedence), &json!(auto), &json!(generation)),
            "{name}"
        );
    }
}

/// §12/apiservices: the places of groups and versions are upstream's.
#[tokio::test]
async fn groups_and_versions_have_the_places_that_upstream_gives_them() {
    let server = on(&memory()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    for (name, group, version) in [
        ("v1.autoscaling", 17_500, 15),
        ("v2.autoscaling", 17_500, 30),
        ("v1.discovery.k8s.io", 16_200, 15),
        ("v1.flowcontrol.apiserver.k8s.io", 16_100, 21),
        ("v1.resource.k8s.io", 16_200, 21),
    ] {
        let path = format!("/apis/apiregistration.k8s.io/v1/apiservices/{name}");
        let mut found = client.get(&path).await;
        while found.status == 404 {
            found = client.get(&path).await;
        }
        let spec = &found.json()["spec"];
        let places = (&spec["groupPriorityMinimum"], &spec["versionPriority"]);
        assert_eq!(places, (&json!(group), &json!(version)), "{name}");
    }
}

/// §12/start: the range is what services get addresses of.
#[tokio::test]
async fn the_range_of_services_is_an_object() {
    let server = on(&memory()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let range = "/apis/networking.k8s.io/v1/servicecidrs/kubernetes";
    let range = client.get(range).await.json();
    assert_eq!(range["spec"], json!({ "cidrs": ["10.0.0.0/24"] }));
    let ready = &range["status"]["conditions"][0];
    assert_eq!(
        (&ready["type"], &ready["status"]),
        (&json!("Ready"), &json!("True"))
    );
}
