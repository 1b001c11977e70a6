//! Bodies that are cut short, huge, deep, in no encoding, or worse, sent to real resources; and
//! clients who write at the same time: api-machinery.md §5, §6, §11, §14.

use base64::Engine as _;
use lockstep_object::json::{self, DEPTH_MAX, STACK_BYTES, depth};
use lockstep_testkit::client::{Answer, Client, config, raw};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::server::{Setup, TestServer};
use crate::world::{CRDS, World};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WIDGETS: &str = "/apis/ex.io/v1/namespaces/default/widgets";

async fn begin() -> (TestServer, Client) {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let crd = json!({
        "metadata": { "name": "widgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(client.write("POST", crds, &crd).await.status, 201);
    (server, client)
}

fn widget(name: &str, spec: &Value) -> Value {
    json!({ "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": name }, "spec": spec })
}

async fn patch(client: &mut Client, path: &str, change: &Value) -> Answer {
    let merge = [("content-type", "application/merge-patch+json")];
    client.send("PATCH", path, &merge, change.to_string()).await
}

/// §5/bad-json, §3/content-type: a clear answer to each, and the server goes on.
#[tokio::test]
async fn bodies_that_cannot_be_read_are_refused_and_harm_nobody() {
    let (_server, mut client) = begin().await;
    let nested = |open: &str, close: &str, times: usize| {
        format!("{{\"x\":{}{}}}", open.repeat(times), close.repeat(times)).into_bytes()
    };
    let bomb: String = (0..40)
        .map(|level| match level {
            0 => "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(),
            level => {
                let below = format!("*a{}", level - 1);
                format!("a{level}: &a{level} [{}]\n", [below.as_str(); 9].join(","))
            }
        })
        .collect();
    let rows: Vec<(&str, Vec<u8>)> = vec![
        ("application/json", b"".to_vec()),
        (
            "application/json",
            b"{\"metadata\":{\"name\":\"a\"".to_vec(),
        ),
        (
            "application/json",
            b"{\"metadata\":{\"name\":\"\xff\xfe\"}}".to_vec(),
        ),
        ("application/json", b"\xef\xbb\xbf{\"metadata\":".to_vec()),
        (
            "application/json",
            b"{\"metadata\":{\"name\":\"\\ud800\"}}".to_vec(),
        ),
        ("application/json", b"{\"x\":1e999999999}".to_vec()),
        ("application/json", b"{} {}".to_vec()),
        ("application/json", b"null".to_vec()),
        ("application/json", nested("[", "]", 100_000)),
        ("application/json", nested("{\"x\":", "}", 100_000)),
        ("application/yaml", nested("[", "]", 100_000)),
        ("application/yaml", b"a: &a [*a]\n".to_vec()),
        ("application/yaml", bomb.into_bytes()),
        ("application/yaml", b"metadata: \xff\n".to_vec()),
        ("application/yaml", b"\t- : : :\n".to_vec()),
        (
            "application/vnd.kubernetes.protobuf",
            b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff".to_vec(),
        ),
        ("application/vnd.kubernetes.protobuf", b"k8s".to_vec()),
    ];
    for (media_type, body) in rows {
        for path in [MAPS, WIDGETS] {
            let head = [("content-type", media_type)];
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            let answer = client.send("POST", path, &head, body.clone()).await;
            let (code, reason, message) = answer.failure();
            assert!(
                matches!(code, 400 | 413 | 415 | 422),
                "{path} {media_type} {shown}: {code} {reason} {message}"
            );
            assert!(message.len() < 4096, "{path} {shown}: {}", message.len());
        }
    }
    for path in [MAPS, WIDGETS] {
        let items = client.get(path).await.json()["items"].clone();
        let names: Vec<&Value> = items
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["metadata"]["name"])
            .collect();
        assert!(
            names.iter().all(|name| **name == "kube-root-ca.crt"),
            "{names:?}"
        );
    }
}

/// §14/sizes, §11/limits: objects over a size limit are refused, on create and on patch.
#[tokio::test]
async fn objects_that_are_too_large_are_refused() {
    let (_server, mut client) = begin().await;
    let large = widget("large", &json!({ "x": "x".repeat(1_572_864) }));
    let refused = client.write("POST", WIDGETS, &large).await;
    let (code, reason, message) = refused.failure();
    assert_eq!((code, reason.as_str()), (413, "RequestEntityTooLarge"));
    assert!(message.ends_with("limit is 1572864"), "{message}");
    let fits = widget("fits", &json!({ "x": "x".repeat(1_500_000) }));
    assert_eq!(client.write("POST", WIDGETS, &fits).await.status, 201);
    let grown = patch(
        &mut client,
        &format!("{WIDGETS}/fits"),
        &json!({ "spec": { "y": "y".repeat(100_000) } }),
    )
    .await;
    assert_eq!(grown.failure().0, 413);
    let map =
        |size: usize| json!({ "metadata": { "name": "m" }, "data": { "k": "x".repeat(size) } });
    let refused = client.write("POST", MAPS, &map((1 << 20) + 1)).await;
    assert_eq!(
        refused.failure().2,
        "ConfigMap \"m\" is invalid: []: Too long: may not be more than 1048576 bytes"
    );
    assert_eq!(client.write("POST", MAPS, &map(1 << 20)).await.status, 201);
    // A secret counts as it is, not as it is written.
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = |name: &str, size: usize| {
        let text = base64::engine::general_purpose::STANDARD.encode(vec![b'x'; size]);
        json!({ "metadata": { "name": name }, "data": { "k": text } })
    };
    let fits = client
        .write("POST", secrets, &secret("fits", 1 << 20))
        .await;
    assert_eq!(fits.status, 201);
    let refused = client
        .write("POST", secrets, &secret("s", (1 << 20) + 1))
        .await;
    assert_eq!(
        refused.failure().2,
        "Secret \"s\" is invalid: data: Too long: may not be more than 1048576 bytes"
    );
    let noted = json!({ "metadata": { "name": "n", "annotations": { "a": "x".repeat(262_144) } } });
    let refused = client.write("POST", MAPS, &noted).await;
    assert_eq!(
        refused.failure().2,
        "ConfigMap \"n\" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes"
    );
    let many: Vec<Value> = (0..10_001)
        .map(|_| json!({ "op": "test", "path": "/metadata/name", "value": "m" }))
        .collect();
    let head = [("content-type", "application/json-patch+json")];
    let body = Value::Array(many).to_string();
    let refused = client
        .send("PATCH", &format!("{MAPS}/m"), &head, body)
        .await;
    assert_eq!(refused.failure().0, 413);
    // §9/json-patch: a small patch does not make a large object of a large one.
    let copies = ["a", "b", "c"]
        .map(|name| json!({ "op": "copy", "from": "/spec/x", "path": format!("/spec/{name}") }));
    let refused = client
        .send(
            "PATCH",
            &format!("{WIDGETS}/fits"),
            &head,
            json!(copies).to_string(),
        )
        .await;
    assert_eq!(
        refused.failure(),
        (
            422,
            "Invalid".to_owned(),
            "the server rejected our request due to an error in our request".to_owned()
        )
    );
}

/// §5/version-ahead: a resourceVersion ahead of the server's is a 504 with `Retry-After`.
#[tokio::test]
async fn a_state_of_the_future_is_not_waited_for_long() {
    let (_server, mut client) = begin().await;
    for path in [MAPS, WIDGETS] {
        let answer = client.get(&format!("{path}?resourceVersion=1000000")).await;
        let status = answer.json();
        assert_eq!(
            (answer.status.as_u16(), answer.header("retry-after")),
            (504, "1"),
            "{status}"
        );
        let causes = &status["details"]["causes"];
        assert_eq!(causes[0]["reason"], "ResourceVersionTooLarge");
    }
}

/// §3/content-type: bodies are not unpacked.
#[tokio::test]
async fn a_compressed_body_is_read_as_it_is() {
    let (_server, mut client) = begin().await;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let map = json!({ "metadata": { "name": "m" } }).to_string();
    std::io::Write::write_all(&mut packed, map.as_bytes()).unwrap();
    let head = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let refused = client.send("POST", MAPS, &head, packed.finish().unwrap());
    assert_eq!(refused.await.failure().0, 400);
    assert_eq!(client.get(&format!("{MAPS}/m")).await.status, 404);
}

/// §6/patch-races: concurrent patches without a resourceVersion all succeed; of those with one, a single patch does.
#[tokio::test]
async fn patches_that_meet_are_all_made_or_refused() {
    let (server, mut client) = begin().await;
    let map = json!({ "metadata": { "name": "m" } });
    let made = client.write("POST", MAPS, &map).await.json();
    let path = format!("{MAPS}/m");
    let path = path.as_str();
    let at_once = async |said: &Value| {
        let mut waiting = tokio::task::JoinSet::new();
        for number in 0..4 {
            let mut client = server.client(Some(server.admin())).await;
            let (path, mut change) = (path.to_owned(), said.clone());
            change["data"] = json!({ format!("k{number}"): "v" });
            waiting.spawn(async move { patch(&mut client, &path, &change).await.status.as_u16() });
        }
        let mut codes = waiting.join_all().await;
        codes.sort_unstable();
        codes
    };
    assert_eq!(at_once(&json!({})).await, [200, 200, 200, 200]);
    let held = client.get(path).await.json();
    assert_eq!(
        held["data"],
        json!({ "k0": "v", "k1": "v", "k2": "v", "k3": "v" })
    );
    assert_ne!(
        held["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    patch(&mut client, path, &json!({ "data": null })).await;
    let seen = client.get(path).await.json();
    let version = json!({ "metadata": { "resourceVersion": seen["metadata"]["resourceVersion"] } });
    assert_eq!(at_once(&version).await, [200, 409, 409, 409]);
}

/// A body that comes slower than a request may take is not waited for.
#[tokio::test]
async fn a_body_that_never_ends_is_given_up() {
    let (server, mut client) = begin().await;
    let trust = config(&server.authority(), Some(server.admin()), "http/1.1");
    let mut slow = raw(server.address, "localhost", trust).await.unwrap();
    let head =
        format!("POST {MAPS}?timeout=200ms HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{{");
    slow.write_all(head.as_bytes()).await.unwrap();
    slow.flush().await.unwrap();
    let mut answer = vec![0; 4096];
    let read = slow.read(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer[..read]);
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
    assert_eq!(client.get("/healthz").await.brief(), (200, "ok"));
}

/// api-machinery.md §6: an object at the limit of nesting is stored and can be read, without `managedFields`, which
/// would be nested deeper than it. Without optimization, field ownership of so deep an object needs more stack than a
/// test thread has.
#[test]
fn the_deepest_object_can_be_read_again() {
    on_server_stack(write_deep_objects);
}

/// Runs a test, and with it the server, on a stack of the size that threads of servers have.
fn on_server_stack<F: Future<Output = ()>>(test: impl FnOnce() -> F + Send + 'static) {
    let runtime = || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(test());
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    thread.spawn(runtime).unwrap().join().unwrap();
}

/// api-machinery.md §11/limits: a schema may nest deeper than `serde_json` reads by default.
#[test]
fn a_definition_with_a_deep_schema_is_served() {
    on_server_stack(async || {
        let mut world = World::start(Setup::own()).await;
        let leaf = json!({ "type": "object" });
        let schema = (1..90).fold(
            leaf,
            |inner, _| json!({ "type": "object", "properties": { "a": inner } }),
        );
        let crd = json!({
            "metadata": { "name": "deeps.ex.io" },
            "spec": {
                "group": "ex.io", "scope": "Cluster", "names": { "plural": "deeps", "kind": "Deep" },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
            },
        });
        assert!(depth(&crd) > 128);
        let defined = world.client.write("POST", CRDS, &crd).await;
        assert_eq!(defined.status, 201, "{}", defined.body);
        let object = json!({
            "apiVersion": "ex.io/v1", "kind": "Deep", "metadata": { "name": "d" }, "a": { "a": {}, "b": {} },
        });
        let made = world.make("/apis/ex.io/v1/deeps", &object).await;
        assert_eq!(made["a"], json!({ "a": {} }));
    });
}

async fn write_deep_objects() {
    let mut world = World::start(Setup::own()).await;
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let crd = json!({
        "metadata": { "name": "deeps.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Cluster", "names": { "plural": "deeps", "kind": "Deep" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }],
        },
    });
    world.make(CRDS, &crd).await;
    let deep = |name: &str, levels: usize| {
        let inner = (1..levels).fold(json!(1), |inner, _| json!({ "a": inner }));
        json!({ "apiVersion": "ex.io/v1", "kind": "Deep", "metadata": { "name": name }, "a": inner })
    };
    let deeps = "/apis/ex.io/v1/deeps";
    for (name, levels, is_owned) in [("flat", 9, true), ("deep", DEPTH_MAX, false)] {
        let made = world.client.write("POST", deeps, &deep(name, levels)).await;
        assert_eq!(made.status, 201, "{name} {}", made.body);
        let read = world.client.get(&format!("{deeps}/{name}")).await;
        assert_eq!(read.status, 200, "{name} {}", read.body);
        let change = json!({ "metadata": { "labels": { "a": "b" } } });
        let changed = world.patch(&format!("{deeps}/{name}"), &change).await;
        assert_eq!(changed.status, 200, "{name} {}", changed.body);
        let put = json::decode(changed.body.as_bytes()).unwrap().value;
        let path = format!("{deeps}/{name}?fieldValidation=Strict");
        let put = world.client.write("PUT", &path, &put).await;
        assert_eq!(put.status, 200, "{name} {}", put.body);
        let selected = "labelSelector=a%3Db&fieldSelector=metadata.name%3D";
        let list = world.client.get(&format!("{deeps}?{selected}{name}")).await;
        assert!(
            list.body.contains(&format!("\"name\":\"{name}\"")),
            "{name}"
        );
        assert_eq!(read.body.contains("managedFields"), is_owned, "{name}");
    }
    let deeper = deep("deeper", DEPTH_MAX + 1);
    let refused = world.client.write("POST", deeps, &deeper).await;
    assert_eq!(refused.status, 400, "{}", refused.body);
}
