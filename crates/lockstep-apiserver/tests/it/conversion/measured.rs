//! Conversions are measured under upstream's names: api-machinery.md §14/metrics.

use serde_json::json;

use super::widgets::{V2, liar, usual};

#[tokio::test]
async fn calls_are_counted_by_what_came_of_them() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    world.get(&format!("{V2}/a")).await;
    world
        .hook
        .now_says(liar(|r| r["convertedObjects"] = json!([])));
    assert_eq!(world.client.get(&format!("{V2}/a")).await.status, 500);
    world
        .hook
        .now_says(liar(|r| r["result"] = json!({ "status": "Failure" })));
    assert_eq!(world.client.get(&format!("{V2}/a")).await.status, 500);
    let metrics = world.client.get("/metrics").await.body;
    for line in [
        "apiserver_conversion_webhook_request_total{failure_type=\"\",result=\"success\"} 1",
        "apiserver_conversion_webhook_request_total{failure_type=\"conversion_webhook_partial_response_failure\",result=\"failure\"} 1",
        "apiserver_conversion_webhook_request_total{failure_type=\"conversion_webhook_malformed_response_failure\",result=\"failure\"} 1",
        "apiserver_conversion_webhook_duration_seconds_count{failure_type=\"\",result=\"success\"} 1",
        "apiserver_crd_conversion_webhook_duration_seconds_count{crd_name=\"widgets.ex.io\",from_version=\"v1\",succeeded=\"true\",to_version=\"v2\"} 1",
        "apiserver_crd_conversion_webhook_duration_seconds_count{crd_name=\"widgets.ex.io\",from_version=\"v1\",succeeded=\"false\",to_version=\"v2\"} 2",
    ] {
        assert!(metrics.lines().any(|one| one == line), "{line}\n{metrics}");
    }
}
