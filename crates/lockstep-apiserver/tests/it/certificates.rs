//! Certificate signing requests: requester, approval and signing.

use serde_json::{Value, json};

use crate::reviews::server;

/// PEM of an arbitrary PKCS #10 request, base64-encoded.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISk1ISUNBUUF3RURFT01Bd0dBMVVFQXd3RmNtOWliM1F3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQgpCd05DQUFRVFZsemk2TzY2N1UzRWNHOVdjWjNVeG9mdVYzYW04Z0ppRGw5UUZKZW94bmxDNDlMdDFrVG5HT0tqCkdoc2I4Q2VJRDJoTVVPNFgxN25lVE9scmcyMGJvQUF3Q2dZSUtvWkl6ajBFQXdJRFJ3QXdSQUlnYXAzdGliYUIKL0FXYVh5UzQyNm9tNll5bnNvSnY1SHVXak9IeG9oN243T1FDSUE1Tk14QXNVWEVQejdhbC9CaGlBaTRXU0M4SQpvUTd1RURNTmdWWFY3OGErCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

/// §12/tier-2: a request for a certificate says who asks, whatever it says.
#[tokio::test]
async fn a_request_for_a_certificate_is_signed_with_all_that_is_known_of_who_asks() {
    let server = server().await;
    let mut client = server.client(Some(server.admin())).await;
    let asked = json!({
        "metadata": { "name": "c" },
        "spec": {
            "signerName": "ex.io/s", "usages": ["client auth"], "request": REQUEST,
            "username": "somebody", "uid": "1", "groups": ["x"], "extra": { "k": ["v"] },
        },
    });
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let made = client.write("POST", requests, &asked).await.json();
    let credential = "authentication.kubernetes.io/credential-id";
    let extra = &made["spec"]["extra"];
    assert!(
        extra[credential][0]
            .as_str()
            .unwrap()
            .starts_with("X509SHA256=")
    );
    assert_eq!(
        made["spec"],
        json!({
            "signerName": "ex.io/s", "usages": ["client auth"], "request": REQUEST,
            "username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"],
            "extra": { credential: [extra[credential][0]] },
        })
    );
}

/// §13/own-verbs: writing an approval or a status also requires the verb `approve` or `sign` for the signer.
#[tokio::test]
async fn certificates_are_approved_and_signed_for_signers_that_one_stands_for() {
    let server = server().await;
    server.ready().await;
    let mut admin = server.client(Some(server.admin())).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let parts = ["approval", "status"].map(|part| format!("certificatesigningrequests/{part}"));
    let rules = json!([
        { "apiGroups": ["certificates.k8s.io"], "resources": parts, "verbs": ["get", "patch"] },
        { "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": ["ex.io/*"], "verbs": ["approve"] },
        { "apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "resourceNames": ["io.ex/s"], "verbs": ["sign"] },
    ]);
    let role = json!({ "metadata": { "name": "signer" }, "rules": rules });
    let binding = json!({
        "metadata": { "name": "signer" },
        "roleRef": { "kind": "ClusterRole", "name": "signer" },
        "subjects": [{ "kind": "User", "name": "alice" }],
    });
    for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
        let path = format!("{rbac}/{plural}");
        assert_eq!(admin.write("POST", &path, &object).await.status, 201);
    }
    for (name, signer) in [("a", "ex.io/s"), ("b", "io.ex/s")] {
        let spec = json!({ "signerName": signer, "usages": ["client auth"], "request": REQUEST });
        let asked = json!({ "metadata": { "name": name }, "spec": spec });
        assert_eq!(admin.write("POST", requests, &asked).await.status, 201);
    }
    let mut alice = server.client(None).await;
    let one = |kind: &str| json!({ "type": kind, "status": "True", "reason": "R", "message": "m" });
    let conditions = |all: &[Value]| json!({ "status": { "conditions": all } });
    let mut patch = async |path: &str, body: &Value| {
        let headers = [
            ("content-type", "application/merge-patch+json"),
            ("authorization", "Bearer alice-token"),
        ];
        let path = format!("{requests}/{path}");
        alice.send("PATCH", &path, &headers, body.to_string()).await
    };
    let (yes, failed) = (conditions(&[one("Approved")]), conditions(&[one("Failed")]));
    // An approval cannot be removed.
    let both = conditions(&[one("Approved"), one("Failed")]);
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    while patch("a/status", &labelled).await.status == 403 {}
    for (path, body, refusal) in [
        (
            "b/approval",
            &yes,
            Some("approve requests with signerName \"io.ex/s\""),
        ),
        ("a/approval", &yes, None),
        (
            "a/status",
            &both,
            Some("sign requests with signerName \"ex.io/s\""),
        ),
        ("a/status", &labelled, None),
        ("b/status", &failed, None),
    ] {
        let answer = patch(path, body).await;
        match refusal {
            None => assert_eq!(answer.status, 200, "{path}: {}", answer.body),
            Some(what) => {
                let name = &path[..1];
                let told = format!(
                    "certificatesigningrequests.certificates.k8s.io \"{name}\" is forbidden: user not permitted to {what}"
                );
                assert_eq!(answer.failure(), (403, "Forbidden".to_owned(), told));
            }
        }
    }
}
