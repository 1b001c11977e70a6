//! Users of an issuer elsewhere: api-machinery.md §13/oidc.

use lockstep_testkit::client::Client;
use lockstep_testkit::webhook::{Hook, Said};
use std::collections::BTreeMap;
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD as BASE64};
use jiff::Timestamp;
use lockstep_apiserver::oidc::{OidcSettings, SigningAlgorithm};
use serde_json::{Value, json};

use crate::server::Setup;
use crate::world::World;

const REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/// A key of an issuer.
struct Key {
    id: &'static str,
    pair: EcdsaKeyPair,
}

impl Key {
    fn new(id: &'static str) -> Self {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap();
        Self { id, pair }
    }

    fn told(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        json!({ "kty": "EC", "crv": "P-256", "use": "sig", "kid": self.id, "x": BASE64.encode(x), "y": BASE64.encode(y) })
    }

    fn sign(&self, payload: &Value) -> String {
        let encode = |value: &Value| BASE64.encode(value.to_string());
        let header = json!({ "alg": "ES256", "kid": self.id });
        let text = format!("{}.{}", encode(&header), encode(payload));
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes());
        format!("{text}.{}", BASE64.encode(signature.unwrap()))
    }
}

/// Response of an issuer on every path: discovery document and JWKS in one.
fn document(issuer: &str, keys: &[&Key]) -> Value {
    let keys: Vec<Value> = keys.iter().map(|key| key.told()).collect();
    json!({ "issuer": issuer, "jwks_uri": format!("{issuer}/keys"), "keys": keys })
}

fn says(hook: &Hook, said: impl Fn() -> Said + Send + Sync + 'static) {
    hook.now_says(Box::new(move |_| Some(said())));
}

fn settings(issuer: &Hook, folder: &std::path::Path) -> OidcSettings {
    let ca_file = folder.join("issuer-ca.crt");
    std::fs::write(&ca_file, &issuer.authority).unwrap();
    OidcSettings {
        issuer: issuer.url.clone(),
        client_id: "lockstep".to_owned(),
        ca_file: Some(ca_file),
        username_claim: "sub".to_owned(),
        username_prefix: Some("oidc:".to_owned()),
        groups_claim: Some("groups".to_owned()),
        groups_prefix: "oidc:".to_owned(),
        required_claims: BTreeMap::new(),
        algorithms: vec![SigningAlgorithm::Rs256, SigningAlgorithm::Es256],
        ask_interval: Duration::ZERO,
    }
}

fn payload(issuer: &str) -> Value {
    let now = Timestamp::now().as_second();
    json!({ "iss": issuer, "aud": ["lockstep"], "sub": "alice", "groups": ["dev"], "exp": now + 60, "iat": now, "jti": "j1" })
}

/// Posts a `SelfSubjectReview` with this token.
async fn whoami(client: &mut Client, token: &str) -> (u16, Value) {
    let bearer = format!("Bearer {token}");
    let headers = [
        ("authorization", bearer.as_str()),
        ("content-type", "application/json"),
    ];
    let answer = client
        .send("POST", REVIEWS, &headers, json!({}).to_string())
        .await;
    let told = answer.json()["status"]["userInfo"].clone();
    (answer.status.as_u16(), told)
}

/// Starts a server that trusts an issuer: the webhook, which gives this answer on every path. The folder holds the
/// certificate of the issuer's CA.
async fn begin(answer: impl Fn(&str) -> Value) -> (World, tempfile::TempDir) {
    let hook = Hook::new(Box::new(|_| None)).await;
    let document = answer(&hook.url);
    says(&hook, move || document.clone().into());
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup {
        oidc: Some(settings(&hook, folder.path())),
        ..Setup::own()
    };
    (World::beside(setup, hook).await, folder)
}

/// §13/oidc and §13/order: users by token, and 401 for tokens that are not good, on open paths too.
#[tokio::test]
async fn users_of_an_issuer_log_in_and_bad_tokens_open_nothing() {
    let (key, stranger) = (Key::new("k"), Key::new("k"));
    let (world, _folder) = begin(|issuer| document(issuer, &[&key])).await;
    let issuer = world.hook.url.as_str();
    let mut client = world.server.client(None).await;
    let good = key.sign(&payload(issuer));
    let alice = json!({
        "username": "oidc:alice",
        "groups": ["oidc:dev", "system:authenticated"],
        "extra": { "authentication.kubernetes.io/credential-id": ["JTI=j1"] },
    });
    assert_eq!(whoami(&mut client, &good).await, (201, alice));
    let with = |field: &str, value: Value| {
        let mut payload = payload(issuer);
        payload[field] = value;
        key.sign(&payload)
    };
    let signed_as = |algorithm: &str, signature: &str| {
        let encode = |value: &Value| BASE64.encode(value.to_string());
        let header = json!({ "alg": algorithm, "kid": "k" });
        let payload = payload(issuer);
        format!("{}.{}.{signature}", encode(&header), encode(&payload))
    };
    let signature = good.rsplit('.').next().unwrap();
    for (what, token) in [
        ("unsigned", signed_as("none", "")),
        ("unsigned, in other letters", signed_as("None", "")),
        (
            "as if the key were a password",
            signed_as("HS256", signature),
        ),
        ("with no algorithm", signed_as("", signature)),
        ("without an end", with("exp", Value::Null)),
        ("forged", stranger.sign(&payload(issuer))),
        ("old", with("exp", 1.into())),
        ("for others", with("aud", "other".into())),
        ("of others", with("iss", "https://other".into())),
        ("without a name", with("sub", Value::Null)),
        ("cut", good[..good.len() - 9].to_owned()),
    ] {
        let told = whoami(&mut client, &token).await;
        assert_eq!(told, (401, Value::Null), "{what}");
        let bearer = format!("Bearer {token}");
        let headers = [("authorization", bearer.as_str())];
        let open = client
            .send("GET", "/healthz", &headers, String::new())
            .await;
        assert_eq!(open.status, 401, "{what}");
    }
    let mut admin = world.admin().await;
    let metrics = admin.get("/metrics").await;
    let name = "apiserver_authentication_jwt_authenticator_latency_seconds_count";
    let count = metrics
        .body
        .lines()
        .filter(|line| line.starts_with(name))
        .count();
    assert_eq!(count, 2, "successes and failures of one issuer");
}

/// §13/oidc: a `TokenReview` reports the user, or the reason for the refusal.
#[tokio::test]
async fn a_review_of_a_token_of_the_issuer_tells_who_or_why_not() {
    let key = Key::new("k");
    let (world, _folder) = begin(|issuer| document(issuer, &[&key])).await;
    let mut admin = world.admin().await;
    let mut old = payload(&world.hook.url);
    old["exp"] = 1.into();
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let mut said = Vec::new();
    for token in [key.sign(&payload(&world.hook.url)), key.sign(&old)] {
        let review = json!({ "spec": { "token": token } });
        let status = admin.write("POST", path, &review).await.json()["status"].clone();
        said.push((status["user"]["username"].clone(), status["error"].clone()));
    }
    let expired = "[invalid bearer token, oidc: verify token: token is expired]";
    assert_eq!(
        said,
        [
            (json!("oidc:alice"), Value::Null),
            (Value::Null, json!(expired))
        ]
    );
}

/// §13/oidc: keys are fetched again for an unknown key ID, and only then.
#[tokio::test]
async fn keys_are_exchanged_while_the_server_runs() {
    let (first, second) = (Key::new("first"), Key::new("second"));
    let (world, _folder) = begin(|issuer| document(issuer, &[&first])).await;
    let issuer = world.hook.url.clone();
    let mut client = world.server.client(None).await;
    let (one, two) = (
        first.sign(&payload(&issuer)),
        second.sign(&payload(&issuer)),
    );
    assert_eq!(whoami(&mut client, &one).await.0, 201);
    assert_eq!(whoami(&mut client, &two).await.0, 401);
    let next = document(&issuer, &[&second]);
    says(&world.hook, move || next.clone().into());
    assert_eq!(whoami(&mut client, &one).await.0, 201);
    assert_eq!(whoami(&mut client, &two).await.0, 201);
    world.hook.asked();
    assert_eq!(whoami(&mut client, &two).await.0, 201);
    assert_eq!(world.hook.asked(), [], "a known key needs no question");
    assert_eq!(whoami(&mut client, &one).await.0, 401);
}

/// §13/oidc: an issuer that is unreachable, wrong or too verbose authenticates no user and does not delay the server.
#[tokio::test]
async fn an_issuer_that_is_down_or_lies_does_not_hold_up_the_server() {
    let key = Key::new("k");
    let (world, _folder) = begin(|_| json!({ "issuer": "https://other" })).await;
    let issuer = world.hook.url.clone();
    let mut client = world.server.client(None).await;
    let token = key.sign(&payload(&issuer));
    assert_eq!(client.get("/healthz").await.status, 200);
    assert_eq!(whoami(&mut client, &token).await.0, 401);
    let good = document(&issuer, &[&key]);
    let without = |field: &str| {
        let mut less = good.clone();
        less.as_object_mut().unwrap().remove(field);
        less
    };
    let mut elsewhere = good.clone();
    elsewhere["jwks_uri"] = "http://127.0.0.1:1/keys".into();
    let mut talkative = good.clone();
    talkative["x"] = "x".repeat(2 << 20).into();
    for answer in [
        without("jwks_uri"),
        without("keys"),
        elsewhere,
        talkative,
        json!([]),
    ] {
        says(&world.hook, move || answer.clone().into());
        assert_eq!(whoami(&mut client, &token).await.0, 401);
    }
    says(&world.hook, || Said {
        code: 302,
        header: ("location", "https://other/"),
        body: "".into(),
    });
    assert_eq!(whoami(&mut client, &token).await.0, 401);
    // Back again, it is believed.
    says(&world.hook, move || good.clone().into());
    assert_eq!(whoami(&mut client, &token).await.0, 201);
}
