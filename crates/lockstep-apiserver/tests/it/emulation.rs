//! Which APIs there are under emulation: feature-gates.md §6/apis.

use lockstep_apiserver::builtin::ApiWishes;
use lockstep_testkit::client::Client;

use crate::server::{Setup, TestServer};

const GROUP: &str = "/apis/resource.k8s.io";
const ALL_AT_ONCE: &str = "application/json;v=v2;g=apidiscovery.k8s.io;as=APIGroupDiscoveryList";

async fn emulating(version: &'static str, wishes: ApiWishes) -> (TestServer, Client) {
    let server = TestServer::with(Setup {
        emulated: version,
        wishes,
        ..Setup::own()
    })
    .await;
    let client = server.client(Some(server.admin())).await;
    (server, client)
}

/// Whether each way of learning about the API of devices and that of attributes of volumes knows
/// them.
async fn known(client: &mut Client) -> [(&'static str, bool, bool); 7] {
    let has = |text: &str| {
        (
            text.contains("resource.k8s.io"),
            text.contains("volumeattributesclasses"),
        )
    };
    let legacy = client.get("/apis").await.body;
    let storage = client.get("/apis/storage.k8s.io/v1").await.body;
    let accept = [("accept", ALL_AT_ONCE)];
    let aggregated = has(&client.send("GET", "/apis", &accept, "").await.body);
    let v2 = has(&client.get("/openapi/v2").await.body);
    let v3 = client.get("/openapi/v3").await.body;
    let v3_storage = client.get("/openapi/v3/apis/storage.k8s.io/v1").await.body;
    let mut status = [0; 4];
    for (at, path) in [
        "/apis/resource.k8s.io/v1/deviceclasses",
        "/apis/storage.k8s.io/v1/volumeattributesclasses",
        GROUP,
        "/apis/resource.k8s.io/v1",
    ]
    .iter()
    .enumerate()
    {
        status[at] = client.get(path).await.status.as_u16();
    }
    [
        ("discovery", has(&legacy).0, has(&storage).1),
        ("aggregated", aggregated.0, aggregated.1),
        ("openapi v2", v2.0, v2.1),
        ("openapi v3", has(&v3).0, has(&v3_storage).1),
        ("routes", status[0] == 200, status[1] == 200),
        ("group", status[2] == 200, has(&storage).1),
        ("version", status[3] == 200, has(&storage).1),
    ]
}

fn all(devices: bool, attributes: bool) -> [(&'static str, bool, bool); 7] {
    [
        "discovery",
        "aggregated",
        "openapi v2",
        "openapi v3",
        "routes",
        "group",
        "version",
    ]
    .map(|way| (way, devices, attributes))
}

#[tokio::test]
async fn what_came_after_the_emulated_version_is_nowhere() {
    for (version, is_there) in [
        ("1.33", false),
        ("1.34", true),
        ("1.35", true),
        ("1.36", true),
    ] {
        let (_server, mut client) = emulating(version, ApiWishes::default()).await;
        assert_eq!(
            known(&mut client).await,
            all(is_there, is_there),
            "{version}"
        );
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found_in_the_words_of_what_never_was() {
    let (_server, mut client) = emulating("1.33", ApiWishes::default()).await;
    for path in [GROUP, "/apis/resource.k8s.io/v1/deviceclasses"] {
        let absent = client.get(path).await;
        let never = client.get(&path.replace("resource", "nothing")).await;
        assert_eq!(
            (absent.status, &absent.body),
            (never.status, &never.body),
            "{path}"
        );
        assert_eq!(absent.status.as_u16(), 404, "{path}");
    }
}

#[tokio::test]
async fn the_runtime_configuration_brings_back_what_it_names() {
    let wishes = ApiWishes {
        runtime_config: vec!["resource.k8s.io/v1=true".to_owned()],
        runtime_config_forward_compatible: true,
        ..ApiWishes::default()
    };
    let (_server, mut client) = emulating("1.33", wishes).await;
    assert_eq!(known(&mut client).await, all(true, false));
}
