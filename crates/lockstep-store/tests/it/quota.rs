//! etcd-api.md §8/quota.

use lockstep_etcd_api::etcdserverpb as pb;
use pb::alarm_request::AlarmAction;

use crate::harness::{Running, code_and_text, get, put};
use crate::maintenance::alarm;

#[tokio::test]
async fn a_used_up_quota_raises_an_alarm_that_stays_until_it_is_cleared() {
    let server = Running::start_with(|config| config.quota_bytes = Some(4 << 20)).await;
    let value = "v".repeat(1 << 20);
    let mut refused = None;
    for _ in 0..8 {
        if let Err(status) = server.kv().put(put("a", &value)).await {
            refused = Some(code_and_text(&status));
            break;
        }
    }
    let text = "ResourceExhausted: etcdserver: mvcc: database space exceeded";
    assert_eq!(refused.as_deref(), Some(text));
    let raised = alarm(&server, AlarmAction::Get, 0, pb::AlarmType::None).await;
    assert_eq!(raised.len(), 1);
    let small = server.kv().put(put("b", "1")).await.unwrap_err();
    assert_eq!(code_and_text(&small), text);
    let read = server.kv().range(get("a")).await.unwrap().into_inner();
    assert_eq!(read.count, 1);
    let (folder, _) = server.stop().await;
    let server = Running::start_on(folder, |config| config.quota_bytes = None).await;
    let still = server.kv().put(put("b", "1")).await.unwrap_err();
    assert_eq!(code_and_text(&still), text);
    let deleted = server.delete("a").await;
    server.compact(deleted).await.unwrap();
    alarm(&server, AlarmAction::Deactivate, 0, pb::AlarmType::Nospace).await;
    assert_eq!(server.put("b", "1").await, deleted + 1);
}
