//! Tokens of service accounts: api-machinery.md §13/tokens.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD as STANDARD, BASE64_URL_SAFE_NO_PAD as BASE64};
use jiff::Timestamp;
use lockstep_testkit::client::{Answer, Client};
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const AUDIENCE: &str = "https://kubernetes.default.svc.cluster.local";

async fn start() -> (TestServer, Client) {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut admin = server.client(Some(server.admin())).await;
    let bob = json!({ "metadata": { "name": "bob" } });
    assert_eq!(admin.write("POST", ACCOUNTS, &bob).await.status, 201);
    (server, admin)
}

async fn request(client: &mut Client, spec: Value) -> Answer {
    let path = format!("{ACCOUNTS}/bob/token");
    client.write("POST", &path, &json!({ "spec": spec })).await
}

async fn token(client: &mut Client, spec: Value) -> String {
    let answer = request(client, spec).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["status"]["token"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// Posts a `TokenReview` and returns the user's name, or the review's error.
async fn review(client: &mut Client, spec: Value) -> Result<String, String> {
    let answer = client
        .write("POST", REVIEWS, &json!({ "spec": spec }))
        .await;
    assert_eq!(answer.status, 201);
    let status = &answer.json()["status"];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    if status["authenticated"] == true {
        Ok(text(&status["user"]["username"]))
    } else {
        Err(text(&status["error"]))
    }
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&BASE64.decode(payload).unwrap()).unwrap()
}

async fn with_token(client: &mut Client, method: &str, path: &str, token: &str) -> Answer {
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    client.send(method, path, &headers, String::new()).await
}

#[tokio::test]
async fn a_token_says_who_asks_until_the_account_is_gone() {
    let (server, mut admin) = start().await;
    let answer = request(&mut admin, json!({})).await.json();
    assert_eq!(
        (&answer["apiVersion"], &answer["kind"]),
        (&json!("authentication.k8s.io/v1"), &json!("TokenRequest"))
    );
    assert_eq!(
        answer["spec"],
        json!({ "audiences": [AUDIENCE], "boundObjectRef": null, "expirationSeconds": 3600 })
    );
    assert_eq!(answer["metadata"]["name"], "bob");
    let token = answer["status"]["token"].as_str().unwrap();
    let claims = claims(token);
    let account = admin.get(&format!("{ACCOUNTS}/bob")).await.json();
    let uid = &account["metadata"]["uid"];
    let (issued, id) = (claims["iat"].as_i64().unwrap(), &claims["jti"]);
    assert_eq!(
        claims,
        json!({
            "aud": [AUDIENCE], "exp": issued + 3600, "iat": issued, "nbf": issued, "iss": AUDIENCE,
            "jti": id, "sub": "system:serviceaccount:default:bob",
            "kubernetes.io": {
                "namespace": "default", "serviceaccount": { "name": "bob", "uid": uid },
            },
        })
    );
    let mut anybody = server.client(None).await;
    let me = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let answer = anybody.send("POST", me, &headers, "{}".to_owned()).await;
    let credential = format!("JTI={}", id.as_str().unwrap());
    assert_eq!(
        answer.json()["status"]["userInfo"],
        json!({
            "username": "system:serviceaccount:default:bob", "uid": uid,
            "groups": [
                "system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated",
            ],
            "extra": { "authentication.kubernetes.io/credential-id": [credential] },
        })
    );
    // A change of the account is no end of its tokens.
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    let media_type = [("content-type", "application/merge-patch+json")];
    let path = format!("{ACCOUNTS}/bob");
    let patched = admin
        .send("PATCH", &path, &media_type, labelled.to_string())
        .await;
    assert_eq!(patched.status, 200);
    assert_eq!(
        with_token(&mut anybody, "GET", "/api", token).await.status,
        200
    );
    // An account of the same name is another one.
    let deleted = admin.send("DELETE", &path, &[], String::new()).await;
    assert_eq!(deleted.status, 200);
    assert_eq!(
        with_token(&mut anybody, "GET", "/api", token).await.status,
        401
    );
    let bob = json!({ "metadata": { "name": "bob" } });
    assert_eq!(admin.write("POST", ACCOUNTS, &bob).await.status, 201);
    assert_eq!(
        with_token(&mut anybody, "GET", "/api", token).await.status,
        401
    );
    assert_eq!(
        review(&mut admin, json!({ "token": token })).await,
        Err("[invalid bearer token, service account token has been invalidated]".to_owned())
    );
}

#[tokio::test]
async fn a_token_is_for_its_audiences() {
    let (_server, mut admin) = start().await;
    let token = token(&mut admin, json!({ "audiences": ["a", "b"] })).await;
    let bob = || Ok("system:serviceaccount:default:bob".to_owned());
    let wrong = |wanted: &str| {
        let text = format!(
            "token audiences [\"a\" \"b\"] is invalid for the target audiences [\"{wanted}\"]"
        );
        Err(format!("[invalid bearer token, {text}]"))
    };
    for (audiences, expected) in [
        (json!(["b", "c"]), bob()),
        (json!(["c"]), wrong("c")),
        (json!([]), wrong(AUDIENCE)),
    ] {
        let spec = json!({ "token": token, "audiences": audiences });
        assert_eq!(review(&mut admin, spec).await, expected, "{audiences}");
    }
    let answer = with_token(&mut admin, "GET", "/api", &token).await;
    // The certificate of the connection says who it is; a token does not undo that.
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_bound_token_ends_with_what_it_is_bound_to() {
    let (server, mut admin) = start().await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({ "metadata": { "name": "s" } });
    let secret = admin.write("POST", secrets, &secret).await.json();
    let uid = &secret["metadata"]["uid"];
    let reference = json!({ "kind": "Secret", "apiVersion": "v1", "name": "s", "uid": uid });
    let token = token(&mut admin, json!({ "boundObjectRef": reference })).await;
    assert_eq!(
        claims(&token)["kubernetes.io"]["secret"],
        json!({ "name": "s", "uid": uid })
    );
    let mut anybody = server.client(None).await;
    assert_eq!(
        with_token(&mut anybody, "GET", "/api", &token).await.status,
        200
    );
    let path = format!("{secrets}/s");
    let deleted = admin.send("DELETE", &path, &[], String::new()).await;
    assert_eq!(deleted.status, 200);
    assert_eq!(
        with_token(&mut anybody, "GET", "/api", &token).await.status,
        401
    );
}

#[tokio::test]
async fn a_token_of_a_pod_names_the_pod_and_its_node() {
    let (server, mut admin) = start().await;
    let node = json!({ "metadata": { "name": "n1" } });
    let node = admin.write("POST", "/api/v1/nodes", &node).await.json();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "serviceAccountName": "bob", "nodeName": "n1",
            "containers": [{ "name": "c", "image": "i:1" }] },
    });
    let pod = admin.write("POST", pods, &pod).await.json();
    let uid = &pod["metadata"]["uid"];
    let reference = json!({ "kind": "Pod", "apiVersion": "v1", "name": "p", "uid": uid });
    let token = token(&mut admin, json!({ "boundObjectRef": reference })).await;
    let claims = claims(&token);
    assert_eq!(
        claims["kubernetes.io"]["pod"],
        json!({ "name": "p", "uid": uid })
    );
    assert_eq!(
        claims["kubernetes.io"]["node"],
        json!({ "name": "n1", "uid": node["metadata"]["uid"] })
    );
    let spec = json!({ "token": token });
    let answer = admin.write("POST", REVIEWS, &json!({ "spec": spec })).await;
    let extra = &answer.json()["status"]["user"]["extra"];
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], json!(["p"]));
    assert_eq!(extra["authentication.kubernetes.io/pod-uid"], json!([uid]));
    assert_eq!(
        extra["authentication.kubernetes.io/node-name"],
        json!(["n1"])
    );
    let mut anybody = server.client(None).await;
    let status = with_token(&mut anybody, "GET", "/api", &token).await.status;
    assert_eq!(status, 200);
    let path = format!("{pods}/p?gracePeriodSeconds=0");
    let deleted = admin.send("DELETE", &path, &[], String::new()).await;
    assert_eq!(deleted.status, 200);
    let status = with_token(&mut anybody, "GET", "/api", &token).await.status;
    assert_eq!(status, 401);
}

#[tokio::test]
async fn what_cannot_be_issued_is_told() {
    let (_server, mut admin) = start().await;
    let secret = json!({ "metadata": { "name": "s" } });
    let secrets = "/api/v1/namespaces/default/secrets";
    assert_eq!(admin.write("POST", secrets, &secret).await.status, 201);
    let bound = |kind: &str, name: &str, uid: &str| json!({ "boundObjectRef": { "kind": kind, "apiVersion": "v1", "name": name, "uid": uid } });
    let invalid = "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: ";
    for (spec, code, reason, expected) in [
        (
            json!({ "expirationSeconds": 599 }),
            422,
            "Invalid",
            format!("{invalid}599: may not specify a duration less than 10 minutes"),
        ),
        (
            json!({ "expirationSeconds": 4_294_967_297_i64 }),
            422,
            "Invalid",
            format!("{invalid}4294967297: may not specify a duration larger than 2^32 seconds"),
        ),
        (
            bound("Secret", "absent", ""),
            404,
            "NotFound",
            "secrets \"absent\" not found".to_owned(),
        ),
        (
            bound("ConfigMap", "s", ""),
            400,
            "BadRequest",
            "cannot bind token to object of type /v1, Kind=ConfigMap".to_owned(),
        ),
        (
            bound("Secret", "", ""),
            400,
            "BadRequest",
            "Name parameter required.".to_owned(),
        ),
        (
            bound("Secret", "s", "x"),
            409,
            "Conflict",
            "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated".to_owned(),
        ),
    ] {
        let answer = request(&mut admin, spec.clone()).await;
        assert_eq!(answer.failure(), (code, reason.to_owned(), expected), "{spec}");
    }
    let nobody = format!("{ACCOUNTS}/nobody/token");
    let answer = admin.write("POST", &nobody, &json!({})).await;
    let expected = "serviceaccounts \"nobody\" not found";
    assert_eq!(answer.failure(), (404, "NotFound".into(), expected.into()));
    let path = format!("{ACCOUNTS}/bob/token");
    let named = json!({ "metadata": { "name": "x" } });
    let answer = admin.write("POST", &path, &named).await;
    let expected = "TokenRequest.authentication.k8s.io \"bob\" is invalid: metadata.name: Invalid value: \"x\": must match the service account name if specified";
    assert_eq!(answer.failure(), (422, "Invalid".into(), expected.into()));
    assert_eq!(admin.get(&path).await.status, 405);
}

#[tokio::test]
async fn forged_tokens_open_nothing() {
    let (server, mut admin) = start().await;
    let token = token(&mut admin, json!({})).await;
    let mut anybody = server.client(None).await;
    let [header, payload, signature]: [&str; 3] =
        token.split('.').collect::<Vec<_>>().try_into().unwrap();
    let mut other = claims(&token);
    other["sub"] = json!("system:serviceaccount:kube-system:default");
    let other = BASE64.encode(other.to_string());
    let unsigned = BASE64.encode(r#"{"alg":"none"}"#);
    for forged in [
        format!("{header}.{other}.{signature}"),
        format!("{unsigned}.{payload}."),
        format!("{header}.{payload}.{signature}AA"),
        format!("{header}.{payload}"),
        "x".repeat(100_000),
    ] {
        let answer = with_token(&mut anybody, "GET", "/version", &forged).await;
        assert_eq!(answer.status, 401, "{forged}");
    }
    // Another server has another key.
    let (_stranger, mut elsewhere) = start().await;
    let foreign = self::token(&mut elsewhere, json!({})).await;
    let answer = with_token(&mut anybody, "GET", "/version", &foreign).await;
    assert_eq!(answer.status, 401);
}

/// A validly signed token is accepted from `nbf` to `exp`, with one minute of leeway at either end.
#[tokio::test]
async fn tokens_end_and_begin_at_their_time() {
    let (server, mut admin) = start().await;
    let token = token(&mut admin, json!({})).await;
    let pem = std::fs::read_to_string(server.path("pki/sa.key")).unwrap();
    let lines = pem.lines().filter(|line| !line.starts_with("-----"));
    let key = STANDARD.decode(lines.collect::<String>()).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key).unwrap();
    let header = token.split('.').next().unwrap();
    let now = Timestamp::now().as_second();
    let mut anybody = server.client(None).await;
    for (begins, ends, why) in [
        (now - 10, now + 3600, None),
        (now - 3600, now - 30, None),
        (now + 30, now + 3600, None),
        (
            now - 3600,
            now - 120,
            Some("service account token has expired"),
        ),
        (
            now + 120,
            now + 3600,
            Some("service account token is not valid yet"),
        ),
    ] {
        let mut claims = claims(&token);
        claims["nbf"] = begins.into();
        claims["exp"] = ends.into();
        let text = format!("{header}.{}", BASE64.encode(claims.to_string()));
        let signature = key.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        let signed = format!("{text}.{}", BASE64.encode(signature));
        let answer = with_token(&mut anybody, "GET", "/version", &signed).await;
        let told = review(&mut admin, json!({ "token": signed })).await;
        let (code, expected) = match why {
            None => (200, Ok("system:serviceaccount:default:bob".to_owned())),
            Some(why) => (401, Err(format!("[invalid bearer token, {why}]"))),
        };
        assert_eq!((answer.status.as_u16(), told), (code, expected));
    }
}

#[tokio::test]
async fn others_learn_how_to_check_tokens() {
    let (server, mut admin) = start().await;
    let document = admin.get("/.well-known/openid-configuration").await;
    assert_eq!(document.header("cache-control"), "public, max-age=3600");
    let keys = format!("https://{}/openid/v1/jwks", server.address);
    assert_eq!(
        document.json(),
        json!({
            "issuer": AUDIENCE,
            "jwks_uri": keys,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    );
    let answer = admin.get("/openid/v1/jwks").await;
    assert_eq!(answer.header("content-type"), "application/jwk-set+json");
    let token = token(&mut admin, json!({})).await;
    let header = BASE64.decode(token.split('.').next().unwrap()).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    let keys = &answer.json()["keys"];
    assert_eq!(keys.as_array().unwrap().len(), 1);
    assert_eq!(keys[0]["kid"], header["kid"]);
    assert_eq!(
        (&keys[0]["kty"], &keys[0]["crv"]),
        (&json!("EC"), &json!("P-256"))
    );
}
