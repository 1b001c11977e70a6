//! Permissions required by each verb and subresource: api-machinery.md §13.

use lockstep_testkit::client::{Answer, Client};
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

pub(crate) const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server where alice may do what the rules say, and its administrator.
pub(crate) async fn begin(rules: &Value) -> (TestServer, Client) {
    let server = TestServer::with(Setup {
        tokens: Some("alice-token,alice,7\n"),
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let role = json!({ "metadata": { "name": "alice" }, "rules": rules });
    let path = format!("{RBAC}/namespaces/default/roles");
    assert_eq!(client.write("POST", &path, &role).await.status, 201);
    let binding = json!({
        "metadata": { "name": "alice" },
        "roleRef": { "kind": "Role", "name": "alice" },
        "subjects": [{ "kind": "User", "name": "alice" }],
    });
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    assert_eq!(client.write("POST", &bindings, &binding).await.status, 201);
    (server, client)
}

pub(crate) async fn as_alice(
    server: &TestServer,
    method: &str,
    path: &str,
    body: &Value,
) -> Answer {
    let headers = [
        (
            "content-type",
            match method {
                "PATCH" => "application/merge-patch+json",
                _ => "application/json",
            },
        ),
        ("authorization", "Bearer alice-token"),
    ];
    let mut client = server.client(None).await;
    client.send(method, path, &headers, body.to_string()).await
}

/// §13/own-verbs, §6/put: the verb `update` alone does not allow a PUT that creates the object.
#[tokio::test]
async fn an_update_that_creates_asks_for_create_too() {
    let rules = json!([{ "apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"] }]);
    let (server, mut client) = begin(&rules).await;
    let lease = json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": "alice" } });
    let path = format!("{LEASES}/l");
    // The role is in force once the response is no longer that alice cannot update leases.
    let refused = loop {
        let answer = as_alice(&server, "PUT", &path, &lease).await;
        if !answer.body.contains("cannot update") {
            break answer;
        }
    };
    assert_eq!(
        refused.failure(),
        (
            403,
            "Forbidden".to_owned(),
            "leases.coordination.k8s.io \"l\" is forbidden: User \"alice\" cannot create resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"default\"".to_owned()
        )
    );
    assert_eq!(client.get(&path).await.status, 404);
    let made = client.write("PUT", &path, &lease).await;
    assert_eq!(made.status, 201);
    let again = as_alice(&server, "PUT", &path, &made.json()).await;
    assert_eq!(again.status, 200);
}

/// §13/own-verbs, §13/rbac: many are not one, and a part is not the whole; a name is one object.
#[tokio::test]
async fn verbs_parts_and_names_stand_for_themselves() {
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete", "get", "list"], "resourceNames": ["mine"] },
        { "apiGroups": ["ex.io"], "resources": ["widgets/status"], "verbs": ["get", "patch"] },
    ]);
    let (server, mut client) = begin(&rules).await;
    let crd = json!({
        "metadata": { "name": "widgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(client.write("POST", crds, &crd).await.status, 201);
    let widgets = "/apis/ex.io/v1/namespaces/default/widgets";
    let widget = json!({ "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": "w" } });
    assert_eq!(client.write("POST", widgets, &widget).await.status, 201);
    let map = json!({ "metadata": { "name": "mine" } });
    assert_eq!(client.write("POST", MAPS, &map).await.status, 201);
    while as_alice(&server, "GET", &format!("{MAPS}/mine"), &json!({}))
        .await
        .status
        != 200
    {}
    let named = "fieldSelector=metadata.name%3Dmine";
    for (method, path, code) in [
        ("GET", format!("{MAPS}/other"), 403),
        ("GET", MAPS.to_owned(), 403),
        ("GET", format!("{MAPS}?{named}"), 200),
        (
            "GET",
            format!("{MAPS}?fieldSelector=metadata.name!%3Dmine"),
            403,
        ),
        (
            "GET",
            format!("{MAPS}?watch=true&{named}&timeoutSeconds=1"),
            403,
        ),
        ("DELETE", format!("{MAPS}?{named}"), 403),
        ("POST", MAPS.to_owned(), 403),
        ("GET", format!("{widgets}/w"), 403),
        ("GET", format!("{widgets}/w/status"), 200),
        ("PATCH", format!("{widgets}/w"), 403),
        ("PATCH", format!("{widgets}/w/status"), 200),
        ("PUT", format!("{widgets}/w/status"), 403),
        ("DELETE", format!("{MAPS}/mine"), 200),
    ] {
        let answer = as_alice(
            &server,
            method,
            &path,
            &json!({ "metadata": { "name": "w" } }),
        )
        .await;
        assert_eq!(answer.status, code, "{method} {path}: {}", answer.body);
    }
}

/// §13/order: an open path is closed to those who show a bad token.
#[tokio::test]
async fn a_bad_credential_is_refused_where_none_is_needed() {
    let (server, _client) = begin(&json!([])).await;
    let mut client = server.client(None).await;
    assert_eq!(client.get("/version").await.status, 200);
    let bad = [("authorization", "Bearer nonsense")];
    let answer = client.send("GET", "/version", &bad, "").await;
    assert_eq!(
        answer.failure(),
        (401, "Unauthorized".to_owned(), "Unauthorized".to_owned())
    );
}

/// §13/escalation: no verb lets a user grant permissions that they do not have.
#[tokio::test]
async fn nobody_gives_what_they_do_not_hold() {
    let held = json!([
        { "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"],
          "verbs": ["create", "get", "patch", "update"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"] },
    ]);
    let (server, mut client) = begin(&held).await;
    let (roles, bindings) = (
        format!("{RBAC}/namespaces/default/roles"),
        format!("{RBAC}/namespaces/default/rolebindings"),
    );
    let role = |name: &str, resource: &str| {
        json!({ "metadata": { "name": name }, "rules": [
            { "apiGroups": [""], "resources": [resource], "verbs": ["get"] },
        ]})
    };
    let binding = |name: &str, kind: &str, given: &str| {
        json!({
            "metadata": { "name": name },
            "roleRef": { "kind": kind, "name": given },
            "subjects": [{ "kind": "User", "name": "bob" }],
        })
    };
    // An administrator may create a role with more permissions than alice's, and a binding without subjects.
    let given = role("given", "secrets");
    assert_eq!(client.write("POST", &roles, &given).await.status, 201);
    let mut bound = binding("given", "Role", "given");
    bound["subjects"] = json!([]);
    assert_eq!(client.write("POST", &bindings, &bound).await.status, 201);
    while as_alice(&server, "GET", &format!("{roles}/alice"), &json!({}))
        .await
        .status
        != 200
    {}
    let secrets = json!({ "rules": role("", "secrets")["rules"] });
    let not_held = "is attempting to grant RBAC permissions not currently held:\n\
                    {APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}";
    for (method, path, body, code, text) in [
        ("POST", roles.clone(), role("held", "configmaps"), 201, ""),
        (
            "POST",
            roles.clone(),
            role("more", "secrets"),
            403,
            not_held,
        ),
        (
            "PUT",
            format!("{roles}/more"),
            role("more", "secrets"),
            403,
            not_held,
        ),
        (
            "PUT",
            format!("{roles}/held"),
            role("held", "secrets"),
            403,
            not_held,
        ),
        ("PATCH", format!("{roles}/held"), secrets, 403, not_held),
        (
            "POST",
            bindings.clone(),
            binding("b", "Role", "held"),
            201,
            "",
        ),
        (
            "POST",
            bindings.clone(),
            binding("c", "ClusterRole", "cluster-admin"),
            403,
            "is attempting to grant RBAC permissions not currently held:\n",
        ),
        (
            "PATCH",
            format!("{bindings}/given"),
            json!({ "subjects": [{ "kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io" }] }),
            403,
            not_held,
        ),
        (
            "PATCH",
            format!("{roles}/given"),
            json!({ "metadata": { "labels": { "a": "b" } } }),
            403,
            not_held,
        ),
        (
            "PATCH",
            format!("{roles}/given"),
            json!({ "metadata": { "finalizers": ["ex.io/f"] } }),
            200,
            "",
        ),
    ] {
        let answer = as_alice(&server, method, &path, &body).await;
        assert_eq!(answer.status, code, "{method} {path}: {}", answer.body);
        let told = answer.json()["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(told.contains(text), "{method} {path}: {told}");
    }
}

/// §13/impersonation: name, groups, uid and each extra need a permission each.
#[tokio::test]
async fn whoever_acts_as_others_needs_a_permission_for_each_part() {
    let (server, mut client) = begin(&json!([])).await;
    let rules = json!([
        { "apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["bob"] },
        { "apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["dev"] },
        { "apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"] },
        { "apiGroups": ["authentication.k8s.io"], "resources": ["userextras/scopes"],
          "verbs": ["impersonate"], "resourceNames": ["view"] },
    ]);
    let role = json!({ "metadata": { "name": "actor" }, "rules": rules });
    let binding = json!({
        "metadata": { "name": "actor" },
        "roleRef": { "kind": "ClusterRole", "name": "actor" },
        "subjects": [{ "kind": "User", "name": "alice" }],
    });
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("{RBAC}/{plural}");
        assert_eq!(client.write("POST", &path, &object).await.status, 201);
    }
    let mut alice = server.client(None).await;
    let mut as_other = async |more: &[(&'static str, &'static str)]| {
        let mut headers = vec![("authorization", "Bearer alice-token")];
        headers.extend(more);
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        alice.send("POST", path, &headers, "{}").await
    };
    let bob = ("impersonate-user", "bob");
    while as_other(&[bob]).await.status == 403 {}
    let (dev, scope) = (
        ("impersonate-group", "dev"),
        ("impersonate-extra-scopes", "view"),
    );
    let told = as_other(&[bob, dev, scope]).await.json();
    assert_eq!(
        told["status"]["userInfo"],
        json!({
            "username": "bob", "groups": ["dev", "system:authenticated"],
            "extra": { "scopes": ["view"] },
        })
    );
    let account = ("impersonate-user", "system:serviceaccount:default:robot");
    let told = as_other(&[account]).await.json();
    assert_eq!(
        told["status"]["userInfo"]["groups"],
        json!([
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        ])
    );
    let cannot = |what: &str, resource: &str, group: &str| {
        format!(
            "{what} is forbidden: User \"alice\" cannot impersonate resource \"{resource}\" in API group \"{group}\" at the cluster scope"
        )
    };
    let authentication = "authentication.k8s.io";
    for (more, expected) in [
        (
            vec![("impersonate-user", "root")],
            cannot("users \"root\"", "users", ""),
        ),
        (
            vec![bob, ("impersonate-group", "system:masters")],
            cannot("groups \"system:masters\"", "groups", ""),
        ),
        (
            vec![bob, ("impersonate-uid", "7")],
            cannot("uids.authentication.k8s.io \"7\"", "uids", authentication),
        ),
        (
            vec![bob, ("impersonate-extra-scopes", "edit")],
            cannot(
                "userextras.authentication.k8s.io \"edit\"",
                "userextras/scopes",
                authentication,
            ),
        ),
    ] {
        let (code, _, message) = as_other(&more).await.failure();
        assert_eq!((code, message), (403, expected), "{more:?}");
    }
}

/// §13: a binding is in force when its write returns, and so is its removal.
#[tokio::test]
async fn a_binding_is_in_force_when_its_write_returns() {
    let rules = json!([{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] }]);
    let (server, mut client) = begin(&rules).await;
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let own = format!("{bindings}/alice");
    let binding = json!({
        "metadata": { "name": "alice" },
        "roleRef": { "kind": "Role", "name": "alice" },
        "subjects": [{ "kind": "User", "name": "alice" }],
    });
    // An open connection, so that the list follows the write at once.
    let mut alice = server.client(None).await;
    let token = [("authorization", "Bearer alice-token")];
    for round in 0..50 {
        let listed = alice.send("GET", MAPS, &token, "").await;
        assert_eq!(listed.status, 200, "round {round}");
        assert_eq!(client.send("DELETE", &own, &[], "").await.status, 200);
        let listed = alice.send("GET", MAPS, &token, "").await;
        assert_eq!(listed.status, 403, "round {round}");
        assert_eq!(client.write("POST", &bindings, &binding).await.status, 201);
    }
}
