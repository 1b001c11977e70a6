//! Controllers of running servers: api-machinery.md §8.

use lockstep_testkit::client::{Answer, Client};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::server::{Setup, TestServer, memory};

const CORE: &str = "/api/v1";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server with its own resources, and its administrator.
async fn begin() -> (TestServer, Client) {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let client = server.client(Some(server.admin())).await;
    (server, client)
}

async fn make(client: &mut Client, path: &str, object: &Value) -> Value {
    let answer = client.write("POST", path, object).await;
    assert_eq!(answer.status, 201, "{path} {object}: {}", answer.body);
    answer.json()
}

/// Repeats a GET until its code and body are as wanted.
async fn until(client: &mut Client, path: &str, is_wanted: impl Fn(u16, &Value) -> bool) -> Value {
    let is_wanted = |answer: &Answer| is_wanted(answer.status.as_u16(), &answer.json());
    client.get_until(path, is_wanted).await.json()
}

async fn gone(client: &mut Client, path: &str) {
    until(client, path, |code, _| code == 404).await;
}

pub(crate) async fn there(client: &mut Client, path: &str) -> Value {
    until(client, path, |code, _| code == 200).await
}

async fn namespace(client: &mut Client, name: &str) {
    let object = json!({ "metadata": { "name": name } });
    make(client, &format!("{CORE}/namespaces"), &object).await;
}

fn owned_by(name: &str, owner: &Value, blocks: bool) -> Value {
    json!({ "metadata": { "name": name, "ownerReferences": [{
        "apiVersion": owner["apiVersion"], "kind": owner["kind"],
        "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocks,
    }]}})
}

async fn delete(client: &mut Client, path: &str, policy: &str) {
    let options = json!({ "propagationPolicy": policy });
    assert_eq!(client.write("DELETE", path, &options).await.status, 200);
}

fn widgets() -> Value {
    json!({
        "metadata": { "name": "widgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    })
}

/// §8/content.
#[tokio::test]
async fn each_namespace_has_a_service_account_and_the_authority_which_come_back() {
    let (server, mut client) = begin().await;
    namespace(&mut client, "n").await;
    for name in ["n", "default", "kube-system"] {
        let account = format!("{CORE}/namespaces/{name}/serviceaccounts/default");
        there(&mut client, &account).await;
    }
    let account = format!("{CORE}/namespaces/n/serviceaccounts/default");
    let before = there(&mut client, &account).await;
    delete(&mut client, &account, "Background").await;
    let uid = before["metadata"]["uid"].clone();
    until(&mut client, &account, |code, now| {
        code == 200 && now["metadata"]["uid"] != uid
    })
    .await;

    let map = format!("{CORE}/namespaces/n/configmaps/kube-root-ca.crt");
    let mut found = there(&mut client, &map).await;
    let authority = String::from_utf8(server.authority()).unwrap();
    assert_eq!(found["data"], json!({ "ca.crt": authority }));
    found["data"] = json!({ "ca.crt": "mine" });
    assert_eq!(client.write("PUT", &map, &found).await.status, 200);
    until(&mut client, &map, |_, now| {
        now["data"]["ca.crt"] == authority.as_str()
    })
    .await;
}

/// §8/namespaces
#[tokio::test]
async fn a_namespace_goes_with_its_content_and_says_what_holds_it() {
    let (_server, mut client) = begin().await;
    make(&mut client, CRDS, &widgets()).await;
    namespace(&mut client, "n").await;
    let maps = format!("{CORE}/namespaces/n/configmaps");
    make(
        &mut client,
        &maps,
        &json!({ "metadata": { "name": "plain" } }),
    )
    .await;
    let held = json!({ "metadata": { "name": "held", "finalizers": ["ex.io/x"] } });
    make(&mut client, &maps, &held).await;
    let all = "/apis/ex.io/v1/namespaces/n/widgets";
    let widget = json!({ "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": "w" } });
    make(&mut client, all, &widget).await;

    let path = format!("{CORE}/namespaces/n");
    delete(&mut client, &path, "Background").await;
    let refused = client
        .write("POST", &maps, &json!({ "metadata": { "name": "late" } }))
        .await;
    let (code, _, message) = refused.failure();
    assert_eq!(code, 403);
    assert!(
        message.contains("because it is being terminated"),
        "{message}"
    );
    gone(&mut client, &format!("{all}/w")).await;
    gone(&mut client, &format!("{maps}/plain")).await;
    let namespace = until(&mut client, &path, |_, namespace| {
        namespace["status"]["conditions"].is_array()
    })
    .await;
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let conditions = namespace["status"]["conditions"].as_array().unwrap();
    let told: Vec<[&str; 2]> = conditions
        .iter()
        .filter(|condition| condition["status"] == "True")
        .map(|condition| ["type", "message"].map(|field| condition[field].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            [
                "NamespaceContentRemaining",
                "Some resources are remaining: configmaps. has 1 resource instances",
            ],
            [
                "NamespaceFinalizersRemaining",
                "Some content in the namespace has finalizers remaining: ex.io/x in 1 resource instances",
            ],
        ]
    );
    let held = format!("{maps}/held");
    let mut object = there(&mut client, &held).await;
    object["metadata"]["finalizers"] = json!([]);
    assert_eq!(client.write("PUT", &held, &object).await.status, 200);
    gone(&mut client, &path).await;
    assert_eq!(client.get(&held).await.status, 404);
}

/// §8/namespaces: spec.finalizers go through `/finalize` and through nothing else.
#[tokio::test]
async fn a_namespace_is_let_go_by_hand_through_finalize() {
    let server = TestServer::with(Setup {
        controllers: "",
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    namespace(&mut client, "n").await;
    let path = format!("{CORE}/namespaces/n");
    delete(&mut client, &path, "Background").await;
    let mut object = there(&mut client, &path).await;
    assert_eq!(object["spec"], json!({ "finalizers": ["kubernetes"] }));
    assert_eq!(object["status"]["phase"], "Terminating");
    object["spec"] = json!({});
    let kept = client.write("PUT", &path, &object).await;
    assert_eq!(kept.json()["spec"], json!({ "finalizers": ["kubernetes"] }));
    let finalize = format!("{path}/finalize");
    assert_eq!(client.write("PUT", &finalize, &object).await.status, 200);
    assert_eq!(client.get(&path).await.status, 404);
}

/// §8/namespaces: 100 of them; how fast is for a benchmark to say.
#[tokio::test]
async fn a_hundred_namespaces_go_at_once() {
    let (_server, mut client) = begin().await;
    for index in 0..100 {
        let name = format!("n{index}");
        namespace(&mut client, &name).await;
        let maps = format!("{CORE}/namespaces/{name}/configmaps");
        make(&mut client, &maps, &json!({ "metadata": { "name": "a" } })).await;
    }
    for index in 0..100 {
        delete(
            &mut client,
            &format!("{CORE}/namespaces/n{index}"),
            "Background",
        )
        .await;
    }
    for index in 0..100 {
        gone(&mut client, &format!("{CORE}/namespaces/n{index}")).await;
    }
    let maps = client.get(&format!("{CORE}/configmaps")).await.json();
    let left = maps["items"].as_array().unwrap().iter();
    let mut left = left.filter(|map| map["metadata"]["name"] == "a");
    assert_eq!(left.next(), None);
}

/// §8/garbage.
#[tokio::test]
async fn dependents_go_after_their_owner_and_before_it_and_not_at_all() {
    let (_server, mut client) = begin().await;
    let maps = format!("{CORE}/namespaces/default/configmaps");
    let at = |name: &str| format!("{maps}/{name}");
    for policy in ["Background", "Foreground", "Orphan"] {
        let owner = make(
            &mut client,
            &maps,
            &json!({ "metadata": { "name": "owner" } }),
        )
        .await;
        let child = make(&mut client, &maps, &owned_by("child", &owner, true)).await;
        make(&mut client, &maps, &owned_by("grandchild", &child, false)).await;
        delete(&mut client, &at("owner"), policy).await;
        gone(&mut client, &at("owner")).await;
        if policy == "Orphan" {
            let child = there(&mut client, &at("child")).await;
            assert_eq!(child["metadata"].get("ownerReferences"), None);
            there(&mut client, &at("grandchild")).await;
            continue;
        }
        gone(&mut client, &at("child")).await;
        gone(&mut client, &at("grandchild")).await;
    }
}

#[tokio::test]
async fn an_owner_in_the_foreground_waits_for_those_who_hold_its_dependents() {
    let (_server, mut client) = begin().await;
    let maps = format!("{CORE}/namespaces/default/configmaps");
    let owner = make(
        &mut client,
        &maps,
        &json!({ "metadata": { "name": "owner" } }),
    )
    .await;
    let mut child = owned_by("child", &owner, true);
    child["metadata"]["finalizers"] = json!(["ex.io/x"]);
    make(&mut client, &maps, &child).await;
    delete(&mut client, &format!("{maps}/owner"), "Foreground").await;
    let child = until(&mut client, &format!("{maps}/child"), |_, child| {
        child["metadata"]["deletionTimestamp"].is_string()
    })
    .await;
    let owner = there(&mut client, &format!("{maps}/owner")).await;
    assert_eq!(
        owner["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    let mut child = child;
    child["metadata"]["finalizers"] = json!([]);
    let path = format!("{maps}/child");
    assert_eq!(client.write("PUT", &path, &child).await.status, 200);
    gone(&mut client, &format!("{maps}/owner")).await;
}

/// §8/garbage: also custom resources that appear later.
#[tokio::test]
async fn custom_resources_own_and_are_owned_as_soon_as_they_are_served() {
    let (_server, mut client) = begin().await;
    let maps = format!("{CORE}/namespaces/default/configmaps");
    let unknown = json!({ "apiVersion": "ex.io/v1", "kind": "Widget",
        "metadata": { "name": "never", "uid": "0" } });
    make(&mut client, &maps, &owned_by("waits", &unknown, false)).await;
    make(&mut client, CRDS, &widgets()).await;
    gone(&mut client, &format!("{maps}/waits")).await;

    let all = "/apis/ex.io/v1/namespaces/default/widgets";
    let widget = json!({ "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": "w" } });
    let widget = make(&mut client, all, &widget).await;
    make(&mut client, &maps, &owned_by("child", &widget, false)).await;
    delete(&mut client, &format!("{all}/w"), "Background").await;
    gone(&mut client, &format!("{maps}/child")).await;
}

/// §8/garbage: owners in other namespaces never delete.
#[tokio::test]
async fn an_owner_elsewhere_is_told_by_an_event_and_deletes_nothing() {
    let (_server, mut client) = begin().await;
    let elsewhere = format!("{CORE}/namespaces/kube-public/configmaps");
    let owner = make(
        &mut client,
        &elsewhere,
        &json!({ "metadata": { "name": "o" } }),
    )
    .await;
    let maps = format!("{CORE}/namespaces/default/configmaps");
    let child = make(&mut client, &maps, &owned_by("child", &owner, false)).await;
    let events = format!("{CORE}/namespaces/default/events");
    let event = until(&mut client, &events, |_, list| list["items"][0].is_object()).await;
    let event = &event["items"][0];
    assert_eq!(event["reason"], "OwnerRefInvalidNamespace");
    assert_eq!(event["involvedObject"]["uid"], child["metadata"]["uid"]);
    there(&mut client, &format!("{maps}/child")).await;
}

/// §12/apiservices: every served group and version has an available `APIService`, including groups without storage.
#[tokio::test]
async fn each_group_that_is_served_here_has_an_available_api_service() {
    let (_server, mut client) = begin().await;
    make(&mut client, CRDS, &widgets()).await;
    let path = "/apis/apiregistration.k8s.io/v1/apiservices";
    there(&mut client, &format!("{path}/v1.ex.io")).await;
    let list = client.get(path).await.json();
    let told = list["items"].as_array().unwrap().iter().map(|api| {
        let condition = &api["status"]["conditions"][0];
        format!(
            "{} {} {}",
            api["metadata"]["name"], condition["type"], condition["status"]
        )
    });
    let expected = [
        "v1.",
        "v1.admissionregistration.k8s.io",
        "v1.apiextensions.k8s.io",
        "v1.apps",
        "v1.authentication.k8s.io",
        "v1.authorization.k8s.io",
        "v1.autoscaling",
        "v1.batch",
        "v1.certificates.k8s.io",
        "v1.coordination.k8s.io",
        "v1.discovery.k8s.io",
        "v1.events.k8s.io",
        "v1.ex.io",
        "v1.flowcontrol.apiserver.k8s.io",
        "v1.networking.k8s.io",
        "v1.node.k8s.io",
        "v1.policy",
        "v1.rbac.authorization.k8s.io",
        "v1.resource.k8s.io",
        "v1.scheduling.k8s.io",
        "v1.storage.k8s.io",
        "v1alpha1.admissionregistration.k8s.io",
        "v1alpha1.lockstep.dev",
        "v1beta1.admissionregistration.k8s.io",
        "v2.autoscaling",
    ];
    let expected = expected.map(|name| format!("\"{name}\" \"Available\" \"True\""));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

/// §8/expiry.
#[tokio::test]
async fn a_role_gathers_the_rules_of_others_as_they_come_and_go() {
    let (_server, mut client) = begin().await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let rule = json!({ "verbs": ["get"], "apiGroups": ["ex.io"], "resources": ["widgets"] });
    let label = "rbac.authorization.k8s.io/aggregate-to-view";
    let gathered =
        json!({ "metadata": { "name": "widgets", "labels": { label: "true" } }, "rules": [rule] });
    make(&mut client, roles, &gathered).await;
    let has = |role: &Value| role["rules"].as_array().unwrap().contains(&rule);
    for name in ["view", "edit", "admin"] {
        until(&mut client, &format!("{roles}/{name}"), |_, role| has(role)).await;
    }
    delete(&mut client, &format!("{roles}/widgets"), "Background").await;
    for name in ["view", "edit", "admin"] {
        until(&mut client, &format!("{roles}/{name}"), |_, role| {
            !has(role)
        })
        .await;
    }
}

/// §12/start: identity Lease per server; a clean stop takes it away.
#[tokio::test]
async fn loops_run_on_one_server_and_move_to_another_when_it_stops() {
    let store = memory();
    let on = |store: &Arc<dyn lockstep_storage::Store>| {
        let store = Arc::clone(store);
        TestServer::with(Setup {
            store,
            ..Setup::own()
        })
    };
    let first = on(&store).await;
    first.ready().await;
    let second = on(&store).await;
    second.ready().await;
    let mut client = second.client(Some(second.admin())).await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let list = until(&mut client, leases, |_, list| {
        list["items"]
            .as_array()
            .is_some_and(|items| items.len() == 3)
    })
    .await;
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lease| lease["metadata"]["name"].as_str().unwrap())
        .collect();
    assert!(names[0].starts_with("apiserver-") && names[1].starts_with("apiserver-"));
    assert_eq!(names[2], "lockstep-controllers");
    let lease = format!("{leases}/lockstep-controllers");
    let holder = there(&mut client, &lease).await["spec"]["holderIdentity"].clone();

    namespace(&mut client, "before").await;
    let account = |name: &str| format!("{CORE}/namespaces/{name}/serviceaccounts/default");
    there(&mut client, &account("before")).await;

    first.stop().await;
    let taken = until(&mut client, &lease, |_, lease| {
        let now = &lease["spec"]["holderIdentity"];
        *now != holder && *now != ""
    })
    .await;
    assert_eq!(taken["spec"]["leaseTransitions"], 1);
    namespace(&mut client, "after").await;
    there(&mut client, &account("after")).await;
    let list = client.get(leases).await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 2, "{list}");
}

/// §12/quota: `status.used` follows creates and deletes, and pods that end.
#[tokio::test]
async fn quotas_tell_what_is_used_when_objects_go_or_end() {
    let (_server, mut client) = begin().await;
    namespace(&mut client, "n").await;
    let path = |plural: &str| format!("{CORE}/namespaces/n/{plural}");
    there(&mut client, &path("configmaps/kube-root-ca.crt")).await;
    let spec = json!({ "hard": { "pods": "2", "configmaps": "9" } });
    let quota = json!({ "metadata": { "name": "q" }, "spec": spec });
    make(&mut client, &path("resourcequotas"), &quota).await;
    let pod = |name: &str| json!({ "metadata": { "name": name }, "spec": { "containers": [{ "name": "c", "image": "i" }] } });
    for name in ["a", "b"] {
        make(&mut client, &path("pods"), &pod(name)).await;
    }
    let told = path("resourcequotas/q");
    let used =
        |pods: &str| json!({ "hard": spec["hard"], "used": { "pods": pods, "configmaps": "1" } });
    until(&mut client, &told, |_, quota| quota["status"] == used("2")).await;
    client.write("DELETE", &path("pods/a"), &json!({})).await;
    until(&mut client, &told, |_, quota| quota["status"] == used("1")).await;
    make(&mut client, &path("pods"), &pod("c")).await;
    let mut ended = client.get(&path("pods/b")).await.json();
    ended["status"]["phase"] = "Succeeded".into();
    client.write("PUT", &path("pods/b/status"), &ended).await;
    until(&mut client, &told, |_, quota| quota["status"] == used("1")).await;
    make(&mut client, &path("pods"), &pod("d")).await;
}

/// §16/controllers: ours are switched off by `--controllers`.
#[tokio::test]
async fn a_loop_that_is_switched_off_does_nothing() {
    let server = TestServer::with(Setup {
        controllers: "*,-serviceaccount-controller",
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    namespace(&mut client, "n").await;
    let map = format!("{CORE}/namespaces/n/configmaps/kube-root-ca.crt");
    there(&mut client, &map).await;
    let accounts = format!("{CORE}/serviceaccounts");
    assert_eq!(client.get(&accounts).await.json()["items"], json!([]));
}

/// §8/answer: `orphanDependents=false` and not gone.
#[tokio::test]
async fn an_old_way_to_ask_for_a_deletion_is_told_that_it_takes_time() {
    let (_server, mut client) = begin().await;
    let maps = format!("{CORE}/namespaces/default/configmaps");
    let held = json!({ "metadata": { "name": "held", "finalizers": ["ex.io/x"] } });
    make(&mut client, &maps, &held).await;
    make(
        &mut client,
        &maps,
        &json!({ "metadata": { "name": "free" } }),
    )
    .await;
    let options = json!({ "orphanDependents": false });
    for (name, code) in [("held", 202), ("free", 200)] {
        let answer = client
            .write("DELETE", &format!("{maps}/{name}"), &options)
            .await;
        assert_eq!(answer.status, code, "{name}");
    }
}

/// §8: the garbage collector removes a pod at once if its node does not exist, since no kubelet would end it.
#[tokio::test]
async fn a_pod_of_a_node_that_is_not_there_goes_with_its_owner() {
    let (_server, mut client) = begin().await;
    namespace(&mut client, "n").await;
    let core = format!("{CORE}/namespaces/n");
    there(&mut client, &format!("{core}/serviceaccounts/default")).await;
    let owner = json!({ "metadata": { "name": "o" } });
    let owner = make(&mut client, &format!("{core}/configmaps"), &owner).await;
    let owners = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": owner["metadata"]["uid"],
    }]);
    let pod = json!({
        "metadata": { "name": "p", "ownerReferences": owners },
        "spec": { "nodeName": "gone", "containers": [{ "name": "c", "image": "i" }] },
    });
    make(&mut client, &format!("{core}/pods"), &pod).await;
    let path = format!("{core}/configmaps/o");
    assert_eq!(client.send("DELETE", &path, &[], "").await.status, 200);
    gone(&mut client, &format!("{core}/pods/p")).await;
}
