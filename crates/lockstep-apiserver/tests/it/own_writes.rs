//! The server's own writes are audited and counted like those of clients: api-machinery.md §14/audit,
//! §14/metrics.

use lockstep_testkit::wait::eventually;
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

#[tokio::test]
async fn writes_of_the_loops_are_logged_and_counted() {
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
        "rules": [
            { "level": "None", "resources": [{ "group": "coordination.k8s.io" }] },
            { "level": "Metadata" },
        ],
    });
    let server = TestServer::with(Setup {
        audit: Some(policy),
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let namespace = json!({ "metadata": { "name": "n" } });
    client.write("POST", "/api/v1/namespaces", &namespace).await;
    let account = "/api/v1/namespaces/n/serviceaccounts/default";
    while client.get(account).await.status != 200 {}
    client.send("DELETE", "/api/v1/namespaces/n", &[], "").await;
    while client.get("/api/v1/namespaces/n").await.status != 404 {}
    let metrics = client.get("/metrics").await.body;
    for line in [
        "apiserver_request_total{code=\"201\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"serviceaccounts\",scope=\"resource\",subresource=\"\",verb=\"POST\",version=\"v1\"} ",
        "apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"serviceaccounts\",scope=\"resource\",subresource=\"\",verb=\"DELETE\",version=\"v1\"} ",
        "apiserver_audit_event_total ",
        "workqueue_adds_total{name=\"background-loops\"} ",
        "workqueue_depth{name=\"background-loops\"} ",
        "workqueue_work_duration_seconds_count{name=\"background-loops\"} ",
    ] {
        assert!(
            metrics.lines().any(|one| one.starts_with(line)),
            "{line}\n{metrics}"
        );
    }
    let log = server.path("audit.log");
    let written = |verb: &str, resource: &str, namespace: &str| {
        let text = std::fs::read_to_string(&log).unwrap();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut own = events.filter(|event| event["user"]["username"] == "system:apiserver");
        own.find(|event| {
            event["verb"] == verb
                && event["objectRef"]["resource"] == resource
                && event["objectRef"]["namespace"] == namespace
        })
    };
    // The audit log is written after the requests were answered.
    let event = eventually("an audit event", async || {
        let found = written("delete", "serviceaccounts", "n");
        found.ok_or_else(|| std::fs::read_to_string(&log))
    })
    .await;
    assert_eq!(
        event,
        json!({
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": event["auditID"],
            "stage": "ResponseComplete",
            "requestURI": account,
            "verb": "delete",
            "user": { "username": "system:apiserver", "groups": ["system:masters", "system:authenticated"] },
            "sourceIPs": ["127.0.0.1"],
            "userAgent": "lockstep",
            "objectRef": { "resource": "serviceaccounts", "namespace": "n", "name": "default", "apiVersion": "v1" },
            "responseStatus": { "metadata": {}, "code": 200 },
            "requestReceivedTimestamp": event["requestReceivedTimestamp"],
            "stageTimestamp": event["stageTimestamp"],
        })
    );
    let made = written("create", "serviceaccounts", "n").unwrap();
    assert_eq!(made["requestURI"], "/api/v1/namespaces/n/serviceaccounts");
    assert_eq!(made["responseStatus"]["code"], 201);
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(
        !text.contains("\"resource\":\"leases\""),
        "the policy says none of those"
    );
}

/// §14/metrics: upstream's metrics of objects, watches and the store.
#[tokio::test]
async fn objects_watches_and_the_store_are_measured() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let crd = json!({
        "metadata": { "name": "widgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Cluster", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "x-kubernetes-validations": [{ "rule": "true" }] } } }],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(client.write("POST", crds, &crd).await.status, 201);
    for name in ["a", "b"] {
        let widget =
            json!({ "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": name } });
        assert_eq!(
            client
                .write("POST", "/apis/ex.io/v1/widgets", &widget)
                .await
                .status,
            201
        );
    }
    let events = client
        .get("/apis/ex.io/v1/widgets?watch=true&timeoutSeconds=1")
        .await;
    assert_eq!(events.body.lines().count(), 2);
    let metrics = client.get("/metrics").await.body;
    for line in [
        "apiserver_storage_objects{resource=\"widgets.ex.io\"} 2",
        "apiserver_storage_objects{resource=\"customresourcedefinitions.apiextensions.k8s.io\"} 1",
        "apiserver_resource_objects{group=\"ex.io\",resource=\"widgets\"} 2",
        "apiserver_resource_objects{group=\"\",resource=\"namespaces\"} 4",
        "apiserver_watch_events_total{group=\"ex.io\",resource=\"widgets\",version=\"v1\"} 2",
        "apiserver_watch_events_sizes_count{group=\"ex.io\",resource=\"widgets\",version=\"v1\"} 2",
        "etcd_request_duration_seconds_count{group=\"ex.io\",operation=\"create\",resource=\"widgets\"} 2",
        "apiserver_cel_evaluation_duration_seconds_count 2",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line}\n{metrics}");
    }
    for name in [
        "apiserver_admission_controller_admission_duration_seconds_count{name=\"LimitRanger\",operation=\"CREATE\",rejected=\"false\",type=\"validate\"} ",
        "process_open_fds ",
        "process_resident_memory_bytes ",
        "process_start_time_seconds ",
        "process_virtual_memory_bytes ",
    ] {
        let value = metrics.lines().find_map(|one| one.strip_prefix(name));
        let value: f64 = value
            .unwrap_or_else(|| panic!("{name}\n{metrics}"))
            .parse()
            .unwrap();
        assert!(value > 0.0, "{name}{value}");
    }
    // It may have taken less than a second.
    let cpu = "process_cpu_seconds_total ";
    assert!(metrics.lines().any(|one| one.starts_with(cpu)));
    // api-machinery.md §14, metrics: apiserver_storage_size_bytes.
    let size = "apiserver_storage_size_bytes{storage_cluster_id=\"etcd-0\"} ";
    let size = metrics.lines().find_map(|one| one.strip_prefix(size));
    assert!(size.unwrap().parse::<u64>().unwrap() > 0);
    let compiled = "apiserver_cel_compilation_duration_seconds_count ";
    let compiled = metrics.lines().find_map(|one| one.strip_prefix(compiled));
    assert!(compiled.unwrap().parse::<u64>().unwrap() > 0);
}

/// Objects created by the server have upstream's field manager and its fields in managedFields.
#[tokio::test]
async fn what_the_server_makes_says_who_made_it() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let authority = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
    while client.get(authority).await.status != 200 {}
    let label = |name: &str| json!({ "f:labels": { ".": {}, name: {} } });
    let bootstrapped = json!({
        "f:annotations": { ".": {}, "f:rbac.authorization.kubernetes.io/autoupdate": {} },
        "f:labels": { ".": {}, "f:kubernetes.io/bootstrapping": {} },
    });
    let class = json!({ "f:description": {}, "f:preemptionPolicy": {}, "f:value": {} });
    for (path, manager, fields) in [
        (
            "/api/v1/namespaces/default",
            "kube-apiserver",
            json!({ "f:metadata": label("f:kubernetes.io/metadata.name") }),
        ),
        (
            "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication",
            "kube-apiserver",
            json!({ "f:data": { ".": {}, "f:client-ca-file": {} } }),
        ),
        (
            "/api/v1/namespaces/default/endpoints/kubernetes",
            "kube-apiserver",
            json!({
                "f:metadata": label("f:endpointslice.kubernetes.io/skip-mirror"),
                "f:subsets": {},
            }),
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical",
            "kube-apiserver",
            class,
        ),
        (
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/cluster-admin",
            "kube-apiserver",
            json!({ "f:metadata": bootstrapped, "f:roleRef": {}, "f:subjects": {} }),
        ),
        (
            authority,
            "kube-controller-manager",
            json!({
                "f:data": { ".": {}, "f:ca.crt": {} },
                "f:metadata": { "f:annotations": { ".": {}, "f:kubernetes.io/description": {} } },
            }),
        ),
    ] {
        let object: Value = serde_json::from_str(&client.get(path).await.body).unwrap();
        let claims = &object["metadata"]["managedFields"];
        let first = &claims[0];
        assert_eq!(
            (&first["manager"], &first["operation"], &first["fieldsV1"]),
            (&json!(manager), &json!("Update"), &fields),
            "{path}: {claims:#}"
        );
    }
}
