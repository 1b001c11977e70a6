//! Authorization and routing agree on the resource, whatever the spelling of the path: api-machinery.md §1, §13.

use serde_json::{Value, json};

use crate::permissions::{MAPS, RBAC, as_alice, begin};

/// §13/rbac, §1/objects: a right inside a namespace is no right to any other object, however its path is spelt.
#[tokio::test]
async fn no_spelling_of_a_path_leads_out_of_what_is_allowed() {
    let rules = json!([
        { "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] },
    ]);
    let (server, mut client) = begin(&rules).await;
    let other = json!({ "metadata": { "name": "other" } });
    let made = client.write("POST", "/api/v1/namespaces", &other).await;
    assert_eq!(made.status, 201);
    let here = "/api/v1/namespaces/default";
    while as_alice(&server, "GET", here, &json!({})).await.status != 200 {}
    let rbac = format!("{RBAC}/namespaces/default");
    for (method, path) in [
        ("GET", format!("{here}/namespaces")),
        (
            "GET",
            format!("{here}/namespaces?watch=true&timeoutSeconds=1"),
        ),
        ("GET", format!("{here}/namespaces/other")),
        ("PUT", format!("{here}/namespaces/other")),
        ("PATCH", format!("{here}/namespaces/other")),
        ("PATCH", format!("{here}/namespaces/other/status")),
        ("PUT", format!("{here}/namespaces/other/finalize")),
        ("DELETE", format!("{here}/namespaces/other")),
        ("DELETE", format!("{here}/namespaces")),
        ("POST", format!("{here}/namespaces")),
        ("GET", format!("{here}/nodes")),
        ("GET", format!("{rbac}/clusterroles")),
        ("GET", format!("{rbac}/clusterroles/cluster-admin")),
        ("DELETE", format!("{rbac}/clusterroles/cluster-admin")),
        ("GET", format!("{here}/configmaps/mine/status/more")),
        (
            "GET",
            "/api/v1/watch/namespaces/default/namespaces/other".to_owned(),
        ),
    ] {
        let refused = as_alice(&server, method, &path, &other).await;
        assert!(
            matches!(refused.status.as_u16(), 404 | 405),
            "{method} {path}: {} {}",
            refused.status,
            refused.body
        );
    }
    let kept = client.get("/api/v1/namespaces/other").await.json();
    assert_eq!(kept, made.json(), "nobody touched it");
}

/// §13/rbac, §0/T12: permission to watch one object allows its deprecated watch path and no other; there are
/// no such paths for subresources.
#[tokio::test]
async fn an_old_watch_of_one_object_shows_no_other() {
    let rules = json!([
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"], "resourceNames": ["mine"] },
        { "apiGroups": [""], "resources": ["*/status"], "verbs": ["deletecollection", "list", "watch"] },
    ]);
    let (server, mut client) = begin(&rules).await;
    for name in ["hidden", "mine"] {
        let map = json!({ "metadata": { "name": name } });
        assert_eq!(client.write("POST", MAPS, &map).await.status, 201);
    }
    let old = MAPS.replace("/api/v1/", "/api/v1/watch/");
    let watch = async |path: String| {
        let path = format!("{path}?timeoutSeconds=1");
        as_alice(&server, "GET", &path, &json!({})).await
    };
    let told = loop {
        let answer = watch(format!("{old}/mine")).await;
        if answer.status == 200 {
            break answer.body;
        }
    };
    let names: Vec<Value> = told
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["object"]["metadata"]["name"].take()
        })
        .collect();
    assert_eq!(names, ["mine"]);
    for (path, code) in [
        (format!("{old}/hidden"), 403),
        (old.clone(), 403),
        (format!("{old}/hidden/status"), 404),
        (format!("{old}/mine/status"), 404),
        (format!("{MAPS}//status"), 404),
        (format!("{MAPS}/"), 403),
    ] {
        assert_eq!(watch(path.clone()).await.status, code, "{path}");
    }
    for path in [format!("{old}/mine"), format!("{MAPS}//status")] {
        let removed = as_alice(&server, "DELETE", &path, &json!({})).await;
        let code = removed.status.as_u16();
        assert!(matches!(code, 403..=405), "{path}: {}", removed.body);
    }
    assert_eq!(client.get(&format!("{MAPS}/mine")).await.status, 200);
}
