//! Questions: api-machinery.md §12 tier 1, §13, and §3 on tables.

use lockstep_testkit::client::{Answer, Client};
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

const TOKENS: &str = "alice-token,alice,7,\"dev\"\n";
const AUTHN: &str = "/apis/authentication.k8s.io/v1";
const AUTHZ: &str = "/apis/authorization.k8s.io/v1";

pub(crate) async fn server() -> TestServer {
    TestServer::with(Setup {
        tokens: Some(TOKENS),
        ..Setup::own()
    })
    .await
}

async fn as_alice(client: &mut Client, path: &str, document: &Value) -> Answer {
    let headers = [
        ("content-type", "application/json"),
        ("authorization", "Bearer alice-token"),
    ];
    client
        .send("POST", path, &headers, document.to_string())
        .await
}

#[tokio::test]
async fn whoever_asks_is_told_who_they_are() {
    let server = server().await;
    let mut client = server.client(None).await;
    let asked = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    let path = format!("{AUTHN}/selfsubjectreviews");
    let answer = as_alice(&mut client, &path, &asked).await;
    assert_eq!(answer.status, 201);
    let answer = answer.json();
    assert!(answer["metadata"]["creationTimestamp"].is_string());
    assert_eq!(
        answer["status"],
        json!({ "userInfo": {
            "username": "alice", "uid": "7", "groups": ["dev", "system:authenticated"],
        }})
    );
    let anonymous = client.write("POST", &path, &asked).await;
    let (code, reason, message) = anonymous.failure();
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert_eq!(
        message,
        "selfsubjectreviews.authentication.k8s.io is forbidden: User \"system:anonymous\" cannot \
         create resource \"selfsubjectreviews\" in API group \"authentication.k8s.io\" at the \
         cluster scope"
    );
}

/// §13: bad token 201 + `status.error`.
#[tokio::test]
async fn a_token_is_reviewed_and_a_bad_one_is_an_answer() {
    let server = server().await;
    let mut client = server.client(Some(server.admin())).await;
    let path = format!("{AUTHN}/tokenreviews");
    let own = "https://kubernetes.default.svc.cluster.local";
    let good = json!({
        "authenticated": true,
        "user": { "username": "alice", "uid": "7", "groups": ["dev", "system:authenticated"] },
        "audiences": [own],
    });
    let bad = json!({ "user": {}, "error": "invalid bearer token" });
    for (spec, expected) in [
        (json!({ "token": "alice-token" }), &good),
        (
            json!({ "token": "alice-token", "audiences": ["x", own] }),
            &good,
        ),
        (json!({ "token": "alice-token", "audiences": ["x"] }), &bad),
        (json!({ "token": "nobody" }), &bad),
    ] {
        let asked = json!({ "spec": spec });
        let answer = client.write("POST", &path, &asked).await;
        assert_eq!(answer.status, 201, "{asked}");
        assert_eq!(
            answer.json(),
            json!({
                "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                "metadata": {}, "spec": spec, "status": expected,
            })
        );
    }
    let empty = client.write("POST", &path, &json!({ "spec": {} })).await;
    let expected = "token is required for TokenReview in authentication";
    assert_eq!(empty.failure(), (400, "BadRequest".into(), expected.into()));
}

#[tokio::test]
async fn access_is_reviewed_for_oneself_and_for_others() {
    let server = server().await;
    let mut admin = server.client(Some(server.admin())).await;
    let binding = json!({
        "metadata": { "name": "alice" },
        "roleRef": { "kind": "ClusterRole", "name": "view" },
        "subjects": [{ "kind": "User", "name": "alice" }],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    assert_eq!(admin.write("POST", bindings, &binding).await.status, 201);
    let reason =
        "RBAC: allowed by RoleBinding \"alice/default\" of ClusterRole \"view\" to User \"alice\"";
    let yes = json!({ "allowed": true, "reason": reason });
    let no = json!({ "allowed": false });
    let read = json!({ "namespace": "default", "verb": "get", "resource": "configmaps" });
    let write = json!({ "namespace": "default", "verb": "create", "resource": "configmaps" });
    let elsewhere = json!({ "namespace": "kube-system", "verb": "get", "resource": "configmaps" });
    let mut client = server.client(None).await;
    for (attributes, expected) in [(&read, &yes), (&write, &no), (&elsewhere, &no)] {
        let asked = json!({ "spec": { "resourceAttributes": attributes } });
        let path = format!("{AUTHZ}/selfsubjectaccessreviews");
        let answer = as_alice(&mut client, &path, &asked).await;
        assert_eq!(answer.status, 201);
        assert_eq!(answer.json()["status"], *expected, "{attributes}");
        assert_eq!(answer.json()["spec"], asked["spec"]);

        let asked = json!({ "spec": { "user": "alice", "resourceAttributes": attributes } });
        let path = format!("{AUTHZ}/subjectaccessreviews");
        let answer = admin.write("POST", &path, &asked).await;
        assert_eq!(answer.json()["status"], *expected, "{attributes}");
        assert_eq!(as_alice(&mut client, &path, &asked).await.status, 403);

        let namespace = attributes["namespace"].as_str().unwrap();
        let path = format!("{AUTHZ}/namespaces/{namespace}/localsubjectaccessreviews");
        let answer = admin.write("POST", &path, &asked).await;
        assert_eq!(answer.json()["status"], *expected, "{attributes}");
        assert_eq!(answer.json()["metadata"], json!({ "namespace": namespace }));
    }
    let asked = json!({ "spec": {
        "groups": ["system:authenticated"],
        "nonResourceAttributes": { "verb": "get", "path": "/version" },
    }});
    let path = format!("{AUTHZ}/subjectaccessreviews");
    let answer = admin.write("POST", &path, &asked).await;
    let reason = "RBAC: allowed by ClusterRoleBinding \"system:discovery\" of ClusterRole \"system:discovery\" to Group \"system:authenticated\"";
    assert_eq!(
        answer.json()["status"],
        json!({ "allowed": true, "reason": reason })
    );
}

#[tokio::test]
async fn the_rules_of_a_user_are_listed() {
    let server = server().await;
    let mut client = server.client(None).await;
    let path = format!("{AUTHZ}/selfsubjectrulesreviews");
    let asked = json!({ "spec": { "namespace": "default" } });
    let answer = as_alice(&mut client, &path, &asked).await;
    assert_eq!(answer.status, 201);
    let status = answer.json()["status"].clone();
    assert_eq!(
        status["resourceRules"],
        json!([
            { "verbs": ["create"], "apiGroups": ["authorization.k8s.io"],
              "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"] },
            { "verbs": ["create"], "apiGroups": ["authentication.k8s.io"],
              "resources": ["selfsubjectreviews"] },
        ])
    );
    assert_eq!(status["incomplete"], false);
    assert_eq!(
        status["nonResourceRules"][1],
        json!({ "verbs": ["get"],
            "nonResourceURLs": ["/healthz", "/livez", "/readyz", "/version", "/version/"] })
    );
    let mut admin = server.client(Some(server.admin())).await;
    let status = admin.write("POST", &path, &asked).await.json()["status"].clone();
    assert_eq!(
        status["resourceRules"][0],
        json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] })
    );
    let nowhere = admin.write("POST", &path, &json!({ "spec": {} })).await;
    let expected = (400, "BadRequest".into(), "no namespace on request".into());
    assert_eq!(nowhere.failure(), expected);
}

/// §13/modes: `--authorization-mode=AlwaysAllow`
#[tokio::test]
async fn who_may_do_everything_is_told_so() {
    let server = TestServer::with(Setup {
        tokens: Some(TOKENS),
        authorizer: lockstep_apiserver::authz::allow_all(),
        ..Setup::own()
    })
    .await;
    let mut client = server.client(None).await;
    let path = format!("{AUTHZ}/selfsubjectrulesreviews");
    let asked = json!({ "spec": { "namespace": "default" } });
    let status = as_alice(&mut client, &path, &asked).await.json()["status"].clone();
    assert_eq!(
        status["resourceRules"][0],
        json!({ "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"] })
    );
    assert_eq!(
        status["nonResourceRules"][0],
        json!({ "verbs": ["*"], "nonResourceURLs": ["*"] })
    );
}

#[tokio::test]
async fn questions_that_make_no_sense_are_refused() {
    let server = server().await;
    let mut client = server.client(Some(server.admin())).await;
    let attributes = json!({ "verb": "get", "resource": "pods", "namespace": "default" });
    let path = json!({ "verb": "get", "path": "/" });
    for (resource, document, code, expected) in [
        (
            "subjectaccessreviews",
            json!({ "spec": { "user": "a" } }),
            422,
            "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
        ),
        (
            "subjectaccessreviews",
            json!({ "spec": { "resourceAttributes": attributes } }),
            422,
            "spec.user: Invalid value: \"\": at least one of user or group must be specified",
        ),
        (
            "selfsubjectaccessreviews",
            json!({ "spec": { "resourceAttributes": attributes, "nonResourceAttributes": path } }),
            422,
            "cannot be specified in combination with resourceAttributes",
        ),
        (
            "selfsubjectaccessreviews",
            json!({ "metadata": { "name": "x" }, "spec": { "resourceAttributes": attributes } }),
            422,
            "metadata: Invalid value: {\"name\":\"x\"}: must be empty",
        ),
        (
            "namespaces/other/localsubjectaccessreviews",
            json!({ "spec": { "user": "a", "resourceAttributes": attributes } }),
            422,
            "spec.resourceAttributes.namespace: Invalid value: \"default\": must match metadata.namespace",
        ),
        (
            "namespaces/other/localsubjectaccessreviews",
            json!({ "spec": { "user": "a", "nonResourceAttributes": path } }),
            422,
            "disallowed on this kind of request",
        ),
        (
            "namespaces/other/localsubjectaccessreviews",
            json!({ "metadata": { "namespace": "x" }, "spec": {} }),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            "subjectaccessreviews",
            json!({ "spec": { "user": 5, "resourceAttributes": attributes } }),
            400,
            "json: cannot unmarshal number into Go struct field SubjectAccessReviewSpec.spec.user of type string",
        ),
        (
            "subjectaccessreviews",
            json!({ "spec": { "groups": "x", "resourceAttributes": attributes } }),
            400,
            "of type []string",
        ),
    ] {
        let answer = client
            .write("POST", &format!("{AUTHZ}/{resource}"), &document)
            .await;
        let (told, _, message) = answer.failure();
        assert_eq!(told, code, "{document}: {message}");
        assert!(message.contains(expected), "{document}: {message}");
    }
    let reviews = format!("{AUTHZ}/selfsubjectaccessreviews");
    for (method, path) in [
        ("GET", reviews.clone()),
        ("DELETE", reviews.clone()),
        ("GET", format!("{reviews}/x")),
        ("POST", format!("{AUTHZ}/localsubjectaccessreviews")),
    ] {
        let answer = client.write(method, &path, &json!({})).await;
        assert_eq!(answer.status, 405, "{method} {path}");
    }
}

/// §3/reviews: asked `as=Table`: 406.
#[tokio::test]
async fn a_question_has_no_table() {
    let server = server().await;
    let mut client = server.client(Some(server.admin())).await;
    let attributes = json!({ "verb": "get", "resource": "pods" });
    let asked = json!({ "spec": { "resourceAttributes": attributes } });
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ];
    let path = format!("{AUTHZ}/selfsubjectaccessreviews");
    let answer = client
        .send("POST", &path, &headers, asked.to_string())
        .await;
    assert_eq!(answer.failure().0, 406);
}

#[tokio::test]
async fn discovery_shows_questions_as_upstream_does() {
    let server = server().await;
    let mut client = server.client(Some(server.admin())).await;
    let list = client.get(AUTHZ).await.json();
    let row = |name: &str, singular: &str, kind: &str, namespaced: bool| {
        json!({ "name": name, "singularName": singular, "namespaced": namespaced, "kind": kind,
            "verbs": ["create"] })
    };
    assert_eq!(
        list["resources"],
        json!([
            row(
                "localsubjectaccessreviews",
                "localsubjectaccessreview",
                "LocalSubjectAccessReview",
                true
            ),
            row(
                "selfsubjectaccessreviews",
                "selfsubjectaccessreview",
                "SelfSubjectAccessReview",
                false
            ),
            row(
                "selfsubjectrulesreviews",
                "selfsubjectrulesreview",
                "SelfSubjectRulesReview",
                false
            ),
            row(
                "subjectaccessreviews",
                "subjectaccessreview",
                "SubjectAccessReview",
                false
            ),
        ])
    );
}
