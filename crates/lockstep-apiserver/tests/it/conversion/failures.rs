//! Webhooks that lie or fail.

use lockstep_testkit::client::Answer;
use lockstep_testkit::webhook::Say;
use serde_json::json;

use super::widgets::{V1, V2, convert, liar, usual, widget};

#[tokio::test]
async fn a_webhook_that_lies_or_fails_changes_nothing() {
    let mut world = usual().await;
    let made = world.widget("a", 1).await;
    let url = world.hook.url.clone();
    let said = |code: u16, body: Vec<u8>| -> Say {
        let body = bytes::Bytes::from(body);
        Box::new(move |_| {
            Some(lockstep_testkit::webhook::Said {
                code,
                header: ("content-type", "application/json"),
                body: body.clone(),
            })
        })
    };
    // Each invalid response is tested with an object of v1 and one of v2.
    let rows: [(Say, &str); 9] = [
        (
            liar(|r| r["convertedObjects"] = json!([])),
            "returned 0 objects, expected 1",
        ),
        (
            liar(|r| r["convertedObjects"][0]["apiVersion"] = "ex.io/v3".into()),
            "returned invalid object at index 0: invalid groupVersion (expected WANTED, received ex.io/v3)",
        ),
        (
            liar(|r| r["convertedObjects"][0]["kind"] = "Gadget".into()),
            "returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
        ),
        (
            liar(|r| r["convertedObjects"][0]["metadata"]["name"] = "x".into()),
            "returned invalid object: must have the same name: a != x",
        ),
        (
            liar(|r| r["convertedObjects"][0]["metadata"]["labels"] = json!({ "x": 1 })),
            "returned invalid metadata: metadata.labels[x] must be a string, but is int64 in converted object",
        ),
        (
            liar(|r| r["result"] = json!({ "status": "Failure", "message": "no" })),
            "failed: no",
        ),
        (
            said(200, b"no json".to_vec()),
            "failed: the answer cannot be read: ",
        ),
        (
            said(500, b"broken".to_vec()),
            "failed: Post \"URL?timeout=30s\": the webhook answered 500 Internal Server Error: \"broken\"",
        ),
        (
            said(200, vec![b' '; 17 << 20]),
            "failed: Post \"URL?timeout=30s\": the answer is larger than 16777216 bytes",
        ),
    ];
    for (say, expected) in rows {
        world.hook.now_says(say);
        let text = |from: &str, to: &str| {
            let expected = expected.replace("URL", &url);
            let expected = expected.replace("WANTED", &format!("ex.io/{to}"));
            format!("conversion webhook for ex.io/{from}, Kind=Widget {expected}")
        };
        let check = |answer: &Answer, expected: &str| {
            let (code, reason, message) = answer.failure();
            assert_eq!((code, reason.as_str()), (500, ""), "{message}");
            assert!(message.starts_with(expected), "{message}\n{expected}");
        };
        check(
            &world.client.get(&format!("{V2}/a")).await,
            &text("v1", "v2"),
        );
        check(&world.client.get(V2).await, &text("v1", "v2"));
        let patch = json!({ "spec": { "width": 2 } });
        check(
            &world.patch(&format!("{V2}/a"), &patch).await,
            &text("v1", "v2"),
        );
        let name = if expected.contains("name") { "a" } else { "b" };
        let made = world
            .client
            .write("POST", V2, &widget("v2", name, "width", 3))
            .await;
        check(&made, &text("v2", "v1"));
    }
    world.hook.now_says(liar(|r| r["uid"] = "another".into()));
    let (_, _, message) = world.client.get(&format!("{V2}/a")).await.failure();
    let start = "conversion webhook for ex.io/v1, Kind=Widget failed: expected response.uid=\"";
    assert!(
        message.starts_with(start) && message.ends_with("got \"another\""),
        "{message}"
    );
    assert_eq!(world.get(&format!("{V1}/a")).await, made, "nothing changed");
    assert_eq!(world.client.get(&format!("{V1}/b")).await.status, 404);
}

/// An object that cannot be converted back to the version of the request is not stored.
#[tokio::test]
async fn a_webhook_that_works_one_way_only_stores_nothing_by_halves() {
    let mut world = usual().await;
    world.hook.now_says(Box::new(|review| {
        let mut answer = convert(&review);
        if review["request"]["desiredAPIVersion"] == "ex.io/v2" {
            answer["response"]["result"] = json!({ "status": "Failure", "message": "one way" });
        }
        Some(answer.into())
    }));
    let made = world
        .client
        .write("POST", V2, &widget("v2", "a", "width", 3))
        .await;
    let message = made.failure().2;
    assert_eq!(
        message,
        "conversion webhook for ex.io/v1, Kind=Widget failed: one way"
    );
    assert_eq!(world.client.get(&format!("{V1}/a")).await.status, 404);
}

#[tokio::test]
async fn the_order_of_a_list_is_kept_or_the_list_is_refused() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    world.widget("b", 2).await;
    world.hook.now_says(liar(|r| {
        r["convertedObjects"].as_array_mut().unwrap().reverse();
    }));
    let message = world.client.get(V2).await.failure().2;
    assert_eq!(
        message,
        "conversion webhook for ex.io/v1, Kind=Widget returned invalid converted object at index 0: \
         must have the same name: a != b"
    );
}
