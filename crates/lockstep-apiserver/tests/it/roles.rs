//! The default roles of a running server: api-machinery.md §12/start.

use serde_json::{Value, json};

use crate::server::{Setup, TestServer, memory};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

pub(crate) async fn on(store: &std::sync::Arc<dyn lockstep_storage::Store>) -> TestServer {
    let store = std::sync::Arc::clone(store);
    TestServer::with(Setup {
        store,
        ..Setup::own()
    })
    .await
}

/// §12/start: every server adds its authority to those of the others.
#[tokio::test]
async fn the_authorities_of_clients_are_published_by_all_servers() {
    let store = memory();
    let first = on(&store).await;
    first.ready().await;
    let second = on(&store).await;
    second.ready().await;
    let third = on(&store).await;
    third.ready().await;
    let mut client = third.client(Some(third.admin())).await;
    let map = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    let all: String = [&first, &second, &third]
        .map(|server| String::from_utf8(server.authority()).unwrap())
        .concat();
    assert_eq!(
        client.get(map).await.json()["data"],
        json!({ "client-ca-file": all })
    );
}

#[tokio::test]
async fn default_roles_are_stored_objects() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let expected = lockstep_authz::default_objects();
    for (plural, kind) in [
        ("clusterroles", "ClusterRole"),
        ("clusterrolebindings", "ClusterRoleBinding"),
        ("roles", "Role"),
        ("rolebindings", "RoleBinding"),
    ] {
        let list = client.get(&format!("{RBAC}/{plural}")).await.json();
        let count = expected.iter().filter(|object| object.kind() == kind);
        assert_eq!(list["items"].as_array().unwrap().len(), count.count());
    }
    let path = format!("{RBAC}/clusterroles/system:basic-user");
    let role = client.get(&path).await.json();
    assert_eq!(
        role["metadata"]["labels"],
        json!({ "kubernetes.io/bootstrapping": "rbac-defaults" })
    );
    assert!(role["metadata"]["uid"].is_string());
}

/// §12/start: the server is found as a service, with its address in both kinds of lists of them.
#[tokio::test]
async fn the_server_is_a_service_of_every_cluster() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let core = "/api/v1/namespaces/default";
    let service = client.get(&format!("{core}/services/kubernetes")).await;
    let service = service.json();
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
    let port = server.address.port();
    assert_eq!(
        service["spec"]["ports"],
        json!([{ "name": "https", "protocol": "TCP", "port": 443, "targetPort": port }])
    );
    let named = json!({ "name": "https", "port": port, "protocol": "TCP" });
    let endpoints = client.get(&format!("{core}/endpoints/kubernetes")).await;
    assert_eq!(
        endpoints.json()["subsets"],
        json!([{ "addresses": [{ "ip": "127.0.0.1" }], "ports": [named] }])
    );
    let slice = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
    let slice = client.get(slice).await.json();
    assert_eq!(slice["ports"], json!([named]));
    let addresses = json!([{ "addresses": ["127.0.0.1"], "conditions": { "ready": true } }]);
    assert_eq!(slice["endpoints"], addresses);
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let classes = client.get(classes).await.json();
    let classes = classes["items"].as_array().unwrap().iter();
    let classes: Vec<String> = classes
        .map(|class| format!("{} {}", class["metadata"]["name"], class["value"]))
        .collect();
    assert_eq!(
        classes,
        [
            "\"system-cluster-critical\" 2000000000",
            "\"system-node-critical\" 2000001000",
        ]
    );
}

/// §8/protected: system namespaces are created again at each start.
#[tokio::test]
async fn a_namespace_of_the_system_that_went_is_back_after_a_restart() {
    let store = memory();
    let server = on(&store).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let path = "/api/v1/namespaces/kube-node-lease";
    assert_eq!(client.send("DELETE", path, &[], "").await.status, 200);
    while client.get(path).await.status != 404 {}
    drop(client);
    server.stop().await;
    let server = on(&store).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        let found = client.get(&format!("/api/v1/namespaces/{name}")).await;
        assert_eq!(found.json()["status"]["phase"], "Active", "{name}");
    }
}

/// The rules that count are the stored ones: taking one away closes, on this server and at once.
#[tokio::test]
async fn what_is_taken_from_a_default_role_is_refused() {
    let server = TestServer::with(Setup::own()).await;
    let mut anonymous = server.client(None).await;
    assert_eq!(anonymous.get("/version").await.status, 200);
    let mut client = server.client(Some(server.admin())).await;
    let path = format!("{RBAC}/clusterrolebindings/system:public-info-viewer");
    assert_eq!(client.send("DELETE", &path, &[], "").await.status, 200);
    anonymous
        .get_until("/version", |answer| answer.status == 403)
        .await;
}

/// The first answer of a server is right, on an empty store and on one with history.
#[tokio::test]
async fn rules_are_neither_open_nor_closed_wrongly_at_a_start() {
    let store = memory();
    let first = on(&store).await;
    let mut anonymous = first.client(None).await;
    assert_eq!(anonymous.get("/version").await.status, 200, "not closed");
    assert_eq!(anonymous.get("/metrics").await.status, 403, "not open");
    first.ready().await;
    let mut client = first.client(Some(first.admin())).await;
    let path = format!("{RBAC}/clusterrolebindings/system:public-info-viewer");
    let mut binding = client.get(&path).await.json();
    binding["subjects"] = json!([]);
    binding["metadata"]["annotations"]["rbac.authorization.kubernetes.io/autoupdate"] =
        "false".into();
    assert_eq!(client.write("PUT", &path, &binding).await.status, 200);
    first.stop().await;

    let second = on(&store).await;
    let mut anonymous = second.client(None).await;
    assert_eq!(anonymous.get("/version").await.status, 403, "not open");
}

#[tokio::test]
async fn each_start_adds_what_is_missing_and_keeps_what_is_extra() {
    let store = memory();
    let first = on(&store).await;
    first.ready().await;
    let mut client = first.client(Some(first.admin())).await;
    let extra = json!({ "verbs": ["get"], "nonResourceURLs": ["/extra"] });
    let write = |name: &str, rules: Value, auto: &str| {
        json!({ "metadata": { "name": name,
            "annotations": { "rbac.authorization.kubernetes.io/autoupdate": auto } }, "rules": rules })
    };
    for (name, auto) in [
        ("system:public-info-viewer", "true"),
        ("system:monitoring", "false"),
    ] {
        let role = write(name, json!([extra]), auto);
        let path = format!("{RBAC}/clusterroles/{name}");
        assert_eq!(client.write("PUT", &path, &role).await.status, 200);
    }
    let gone = format!("{RBAC}/clusterroles/system:heapster");
    assert_eq!(client.send("DELETE", &gone, &[], "").await.status, 200);
    first.stop().await;

    let second = on(&store).await;
    second.ready().await;
    let mut client = second.client(Some(second.admin())).await;
    let mut rules = async |name: &str| {
        let path = format!("{RBAC}/clusterroles/{name}");
        client.get(&path).await.json()["rules"].clone()
    };
    let paths = ["/healthz", "/livez", "/readyz", "/version", "/version/"];
    let repaired = paths.map(|path| json!({ "verbs": ["get"], "nonResourceURLs": [path] }));
    let repaired: Vec<Value> = [extra.clone()].into_iter().chain(repaired).collect();
    assert_eq!(rules("system:public-info-viewer").await, json!(repaired));
    assert_eq!(rules("system:monitoring").await, json!([extra]));
    assert!(rules("system:heapster").await.is_array());
}

/// §13: an apply, or an update, that makes an object needs the permission to create it.
#[tokio::test]
async fn making_an_object_by_apply_or_update_needs_create_too() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let role = json!({
        "metadata": {"name": "patcher"},
        "rules": [{"apiGroups": ["", "coordination.k8s.io"], "resources": ["configmaps", "leases"],
            "verbs": ["patch", "update"]}],
    });
    let binding = json!({
        "metadata": {"name": "patcher"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "patcher"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    });
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("{RBAC}/{plural}");
        let body = object.to_string();
        assert_eq!(client.send("POST", &path, &[], body).await.status, 201);
    }
    let apply = [
        ("impersonate-user", "alice"),
        ("content-type", "application/apply-patch+yaml"),
    ];
    let path = "/api/v1/namespaces/default/configmaps/a?fieldManager=m";
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}).to_string();
    let refused = client.send("PATCH", path, &apply, map.clone()).await.json();
    assert_eq!(
        refused["message"],
        "configmaps \"a\" is forbidden: User \"alice\" cannot create resource \"configmaps\" in API group \"\" in the \
         namespace \"default\""
    );
    assert_eq!(
        client
            .send("PATCH", path, &apply[1..], map.clone())
            .await
            .status,
        201
    );
    assert_eq!(
        client.send("PATCH", path, &apply, map.clone()).await.status,
        200
    );

    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let lease = json!({"metadata": {"name": "l"}, "spec": {}}).to_string();
    let refused = client.send("PUT", path, &apply[..1], lease.clone()).await;
    assert_eq!(refused.status, 403);
    let made = client.send("PUT", path, &[], lease).await;
    assert_eq!(made.status, 201);
    let again = client.send("PUT", path, &apply[..1], made.body).await;
    assert_eq!(again.status, 200);
}
