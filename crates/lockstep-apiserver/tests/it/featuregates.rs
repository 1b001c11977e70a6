//! Gates as objects: ux.md §4, featuregates.

use lockstep_testkit::client::Client;
use serde_json::{Value, json};

use crate::server::{Setup, TestServer, memory};

const GATES: &str = "/apis/lockstep.dev/v1alpha1/featuregates";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// Waits for the state of a gate, which servers publish after they are ready.
async fn gate_when(client: &mut Client, name: &str, is_fine: impl Fn(&Value) -> bool) -> Value {
    let path = format!("{GATES}/{name}");
    let answer = client.get_until(&path, |answer| is_fine(&answer.json()));
    answer.await.json()
}

fn places(gate: &Value) -> usize {
    let places = gate["status"]["perServer"].as_array();
    places.map_or(0, Vec::len)
}

#[tokio::test]
async fn gates_are_read_selected_and_printed_and_nobody_writes_them() {
    let server = TestServer::with(Setup {
        gates: "WatchList=false",
        ..Setup::own()
    })
    .await;
    let mut client = server.client(Some(server.admin())).await;
    let gate = gate_when(&mut client, "kube.watchlist", |gate| places(gate) == 1).await;
    assert_eq!(gate["spec"]["gate"], "WatchList");
    assert_eq!(
        [
            &gate["status"]["enabled"],
            &gate["status"]["default"],
            &gate["status"]["source"],
            &gate["status"]["perServer"][0]["value"],
            &gate["status"]["perServer"][0]["host"],
        ],
        [
            &json!(false),
            &json!(true),
            &json!("flag"),
            &json!(false),
            &json!("test-host")
        ]
    );
    let last = gate_when(&mut client, "lockstep.allbeta", |gate| places(gate) == 1).await;
    assert_eq!(last["status"]["stage"], "Beta");

    let selector =
        "?fieldSelector=spec.component%3Dkube,status.enabled%3Dfalse,status.stage%3DBeta";
    let found = client.get(&format!("{GATES}{selector}")).await.json();
    let names = found["items"].as_array().unwrap().iter();
    let names: Vec<_> = names
        .map(|gate| gate["metadata"]["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"kube.watchlist"), "{names:?}");
    assert!(!names.contains(&"kube.apiserveridentity"), "{names:?}");

    let path = format!("{GATES}/kube.watchlist");
    let table = client
        .send("GET", &path, &[("accept", TABLE)], "")
        .await
        .json();
    let titles = table["columnDefinitions"].as_array().unwrap().iter();
    let titles: Vec<_> = titles
        .map(|c| (c["name"].as_str().unwrap(), c["priority"].as_i64().unwrap()))
        .collect();
    assert_eq!(
        titles,
        [
            ("Name", 0),
            ("Component", 0),
            ("Stage", 0),
            ("Enabled", 0),
            ("Default", 0),
            ("Since", 0),
            ("Locked", 1),
            ("Set-By", 1),
            ("Removed-In", 1),
            ("Servers", 1)
        ]
    );
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(
        [
            &cells[0], &cells[1], &cells[2], &cells[3], &cells[4], &cells[7], &cells[9]
        ],
        [
            &json!("kube.watchlist"),
            &json!("kube"),
            &json!("Beta"),
            &json!("false"),
            &json!("true"),
            &json!("flag"),
            &json!("0/1")
        ]
    );

    for verb in ["PUT", "DELETE", "POST", "PATCH"] {
        let path = if verb == "POST" { GATES } else { &path };
        let answer = client.write(verb, path, &gate).await;
        assert_eq!(answer.status, 405, "{verb} {}", answer.body);
    }
    let document = client
        .get("/openapi/v3/apis/lockstep.dev/v1alpha1")
        .await
        .json();
    let schema = &document["components"]["schemas"]["dev.lockstep.v1alpha1.FeatureGate"];
    assert_eq!(
        schema["properties"]["status"]["properties"]["enabled"]["type"],
        "boolean"
    );
}

#[tokio::test]
async fn servers_on_one_store_show_what_each_decided() {
    let store = memory();
    let setup = |gates| Setup {
        gates,
        store: store.clone(),
        ..Setup::own()
    };
    let one = TestServer::with(setup("")).await;
    let mut client = one.client(Some(one.admin())).await;
    gate_when(&mut client, "kube.watchlist", |gate| places(gate) == 1).await;
    let other = TestServer::with(setup("WatchList=false")).await;
    let gate = gate_when(&mut client, "kube.watchlist", |gate| places(gate) == 2).await;
    let mut values: Vec<_> = gate["status"]["perServer"]
        .as_array()
        .unwrap()
        .iter()
        .map(|place| place["value"].as_bool().unwrap())
        .collect();
    values.sort_unstable();
    assert_eq!(
        (values, &gate["status"]["enabled"]),
        (vec![false, true], &json!(false))
    );
    drop(other);
}

/// ux.md §8.4 S5: the dashboard's types are generated from this file. `LOCKSTEP_UPDATE=1` rewrites
/// it; `npm run build` in `ui/` follows it.
#[tokio::test]
async fn the_dashboard_knows_the_schema_that_is_served() {
    const NAME: &str = "dev.lockstep.v1alpha1.FeatureGate";
    let server = TestServer::with(Setup::own()).await;
    let mut client = server.client(Some(server.admin())).await;
    let path = "/openapi/v3/apis/lockstep.dev/v1alpha1";
    let document = client.get(path).await.json();
    let schema = &document["components"]["schemas"][NAME];
    let mut text = serde_json::to_string_pretty(&json!({ "schemas": { NAME: schema } })).unwrap();
    text.push('\n');
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../ui/openapi.json");
    if std::env::var_os("LOCKSTEP_UPDATE").is_some() {
        std::fs::write(file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), text);
}
