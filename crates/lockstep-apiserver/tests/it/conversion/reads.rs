//! Reading, listing and selecting.

use lockstep_testkit::certificates::{issued, own_authority};
use serde_json::{Value, json};

use super::widgets::{V1, V2, begin, brief, in_v1, in_v2, usual};

#[tokio::test]
async fn objects_are_read_in_the_version_that_is_asked_for() {
    for (pair, review) in [(own_authority(), "v1"), (issued(), "v1beta1")] {
        let mut world = begin(&pair, review).await;
        let made = world.widget("a", 1).await;
        world.widget("b", 2).await;
        assert_eq!(brief(&world.get(&format!("{V1}/a")).await), in_v1("a", 1));
        assert_eq!(world.get(V1).await["items"].as_array().unwrap().len(), 2);
        assert_eq!(
            world.calls(),
            [0_usize; 0],
            "the stored version asks nobody"
        );
        let shown = world.get(&format!("{V2}/a")).await;
        assert_eq!(brief(&shown), in_v2("a", 1));
        for field in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
            assert_eq!(shown["metadata"][field], made["metadata"][field]);
        }
        assert_eq!(world.calls(), [1]);
        let list = world.get(V2).await;
        let items: Vec<Value> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(brief)
            .collect();
        assert_eq!(list["kind"], "WidgetList");
        assert_eq!(items, [in_v2("a", 1), in_v2("b", 2)]);
        assert_eq!(world.calls(), [2], "a page is one call");
    }
}

#[tokio::test]
async fn tables_metadata_scales_and_selectors_are_of_the_version_that_is_asked_for() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    world.widget("b", 2).await;
    let accept = |form: &str| format!("application/json;as={form};v=v1;g=meta.k8s.io");
    let table = accept("Table");
    let table = world
        .client
        .send("GET", V2, &[("accept", &table)], "")
        .await;
    let rows = table.json()["rows"].clone();
    let cells: Vec<&Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["cells"])
        .collect();
    assert_eq!(cells, [&json!(["a", 1]), &json!(["b", 2])]);
    let partial = accept("PartialObjectMetadata");
    let path = format!("{V2}/a");
    let partial = world
        .client
        .send("GET", &path, &[("accept", &partial)], "")
        .await;
    assert_eq!(
        partial.json()["metadata"]["labels"],
        json!({ "width": "1" })
    );
    let scale = world.get(&format!("{V2}/b/scale")).await;
    assert_eq!(scale["spec"], json!({ "replicas": 2 }));
    world.calls();
    for selector in ["labelSelector=width%3D2", "fieldSelector=spec.width%3D2"] {
        for limit in ["", "&limit=1"] {
            let list = world.get(&format!("{V2}?{selector}{limit}")).await;
            let items = list["items"].as_array().unwrap();
            let items: Vec<Value> = items.iter().map(brief).collect();
            assert_eq!(items, [in_v2("b", 2)], "{selector}{limit}");
            assert_eq!(world.calls(), [2], "{selector}{limit}");
        }
    }
    let list = world.get(&format!("{V1}?labelSelector=width%3D2")).await;
    assert_eq!(list["items"], json!([]), "v1 has no such label");
    let page = world.get(&format!("{V2}?limit=1")).await;
    assert_eq!(world.calls(), [1]);
    let token = page["metadata"]["continue"].as_str().unwrap();
    let page = world.get(&format!("{V2}?limit=1&continue={token}")).await;
    assert_eq!(brief(&page["items"][0]), in_v2("b", 2));
}
