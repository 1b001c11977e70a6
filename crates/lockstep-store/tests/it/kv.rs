//! etcd-api.md §1, §2.

use lockstep_etcd_api::etcdserverpb as pb;
use tokio_stream::StreamExt;
use tonic::Code;

use crate::harness::{Running, all, code_and_text, get, put};

/// etcd-api.md §1/header.
#[tokio::test]
async fn every_reply_names_cluster_member_revision_and_term() {
    let server = Running::start().await;
    let first = server.kv().put(put("a", "1")).await.unwrap().into_inner();
    let header = first.header.unwrap();
    assert_ne!((header.cluster_id, header.member_id), (0, 0));
    assert_eq!((header.revision, header.raft_term), (2, 2));
    let read = server.kv().range(get("a")).await.unwrap().into_inner();
    assert_eq!(read.header, Some(header));
    let (folder, _) = server.stop().await;
    let again = Running::start_on(folder, |config| config.cluster_token = "other".into()).await;
    let read = again.kv().range(get("a")).await.unwrap().into_inner();
    assert_eq!(read.header, Some(header));
}

/// etcd-api.md §7/errors.
#[tokio::test]
async fn refusals_come_with_the_code_and_the_text_of_the_sheet() {
    let server = Running::start_with(|config| config.txn_ops_max = 2).await;
    let mut kv = server.kv();
    let no_key = kv.put(put("", "x")).await.unwrap_err();
    assert_eq!(
        code_and_text(&no_key),
        "InvalidArgument: etcdserver: key is not provided"
    );
    let no_lease = pb::PutRequest {
        lease: 9,
        ..put("a", "1")
    };
    let no_lease = kv.put(no_lease).await.unwrap_err();
    assert_eq!(
        code_and_text(&no_lease),
        "NotFound: etcdserver: requested lease not found"
    );
    let future = pb::RangeRequest {
        revision: 99,
        ..get("a")
    };
    let future = kv.range(future).await.unwrap_err();
    let text = "OutOfRange: etcdserver: mvcc: required revision is a future revision";
    assert_eq!(code_and_text(&future), text);
    let op = |key| pb::RequestOp {
        request: Some(pb::request_op::Request::RequestPut(put(key, "1"))),
    };
    let txn = |keys: &[&'static str]| pb::TxnRequest {
        success: keys.iter().map(|key| op(key)).collect(),
        ..pb::TxnRequest::default()
    };
    let many = kv.txn(txn(&["a", "b", "c"])).await.unwrap_err();
    let text = "InvalidArgument: etcdserver: too many operations in txn request";
    assert_eq!(code_and_text(&many), text);
    let twice = kv.txn(txn(&["a", "a"])).await.unwrap_err();
    let text = "InvalidArgument: etcdserver: duplicate key given in txn request";
    assert_eq!(code_and_text(&twice), text);
}

/// etcd-api.md §1/receive-size.
#[tokio::test]
async fn a_request_above_the_limit_is_too_large_and_one_at_it_is_not() {
    let server = Running::start().await;
    let large = put("a", &"x".repeat(3 << 19));
    let refused = server.kv().put(large).await.unwrap_err();
    assert_eq!(
        code_and_text(&refused),
        "InvalidArgument: etcdserver: request is too large"
    );
    let fits = put("a", &"x".repeat((3 << 19) - 16));
    let answer = server.kv().put(fits).await.unwrap().into_inner();
    assert_eq!(answer.header.unwrap().revision, 2);
}

/// etcd-api.md §2/txn-own-puts, etcd-api.md §1/header.
#[tokio::test]
async fn a_transaction_sees_its_own_puts_and_tells_the_revision_so_far() {
    use pb::request_op::Request::{RequestPut, RequestRange};
    let server = Running::start().await;
    server.put("a", "0").await;
    let ops = [
        RequestRange(get("a")),
        RequestPut(put("a", "1")),
        RequestRange(get("a")),
    ];
    let txn = pb::TxnRequest {
        success: ops.map(|op| pb::RequestOp { request: Some(op) }).into(),
        ..pb::TxnRequest::default()
    };
    let answer = server.kv().txn(txn).await.unwrap().into_inner();
    assert_eq!(
        (answer.succeeded, answer.header.unwrap().revision),
        (true, 3)
    );
    let seen: Vec<_> = answer
        .responses
        .into_iter()
        .map(|op| match op.response.unwrap() {
            pb::response_op::Response::ResponseRange(answer) => {
                (answer.header.unwrap().revision, answer.kvs[0].value.clone())
            }
            pb::response_op::Response::ResponsePut(answer) => {
                (answer.header.unwrap().revision, "put".into())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(seen, [(2, "0".into()), (3, "put".into()), (3, "1".into())]);
}

/// etcd-api.md §2/range-stream-level: clients fall back when they meet a server before 3.7.
#[tokio::test]
async fn before_3_7_there_is_no_range_stream_and_nothing_else_that_is_newer() {
    for (level, is_there) in [("3.6", false), ("3.7", true)] {
        let server = Running::start_with(|config| config.level = level.parse().unwrap()).await;
        server.put("a", "1").await;
        let stream = server.kv().range_stream(all()).await;
        let code_and_text = stream
            .map(|_| ())
            .map_err(|status| (status.code(), status.message().to_owned()));
        let unknown = "unknown method RangeStream for service etcdserverpb.KV".to_owned();
        let expected = if is_there {
            Ok(())
        } else {
            Err((Code::Unimplemented, unknown))
        };
        assert_eq!(code_and_text, expected, "{level}");
        let unary = server.kv().range(all()).await.unwrap().into_inner();
        assert_eq!(unary.count, 1, "{level}");
    }
    for (level, is_there) in [("3.4", false), ("3.5", false), ("3.6", true)] {
        let server = Running::start_with(|config| config.level = level.parse().unwrap()).await;
        let mut maintenance = server.maintenance();
        let status = maintenance
            .status(pb::StatusRequest::default())
            .await
            .unwrap()
            .into_inner();
        let newer = (
            status.storage_version.clone(),
            status.db_size_quota,
            status.downgrade_info,
        );
        let expected = (
            format!("{level}.0"),
            2 << 30,
            Some(pb::DowngradeInfo::default()),
        );
        let expected = if is_there {
            expected
        } else {
            Default::default()
        };
        assert_eq!((status.version, newer), (format!("{level}.0"), expected));
        let hash = maintenance
            .hash_kv(pb::HashKvRequest::default())
            .await
            .unwrap()
            .into_inner();
        assert_eq!(hash.hash_revision, i64::from(is_there), "{level}");
    }
}

/// etcd-api.md §2/range-stream.
#[tokio::test]
async fn the_chunks_of_a_range_stream_are_the_unary_answer() {
    let server = Running::start().await;
    for number in 0..300 {
        server
            .put(&format!("k{number:03}"), &"v".repeat(9000))
            .await;
    }
    for limit in [0, 1, 250, 300, 999] {
        let request = pb::RangeRequest { limit, ..all() };
        let unary = server
            .kv()
            .range(request.clone())
            .await
            .unwrap()
            .into_inner();
        let stream = server
            .kv()
            .range_stream(request)
            .await
            .unwrap()
            .into_inner();
        let chunks: Vec<_> = stream
            .map(|chunk| chunk.unwrap().range_response.unwrap())
            .collect()
            .await;
        let mut merged = pb::RangeResponse::default();
        for chunk in &chunks {
            assert_eq!(merged.header, None, "only the last chunk has a header");
            merged.header = chunk.header;
            merged.kvs.extend_from_slice(&chunk.kvs);
            merged.more |= chunk.more;
            merged.count += chunk.count;
        }
        assert_eq!(merged, unary, "limit {limit}");
        assert_eq!(chunks.len() > 1, limit != 1, "limit {limit}");
    }
}

/// So many that a read of all does not happen between two others.
const MANY: usize = 1100;

async fn fill(server: &Running) {
    let keys: Vec<_> = (0..MANY).map(|number| format!("k{number:04}")).collect();
    for keys in keys.chunks(100) {
        let put = |key: &String| pb::RequestOp {
            request: Some(pb::request_op::Request::RequestPut(put(key, "v"))),
        };
        let txn = pb::TxnRequest {
            success: keys.iter().map(put).collect(),
            ..pb::TxnRequest::default()
        };
        server.kv().txn(txn).await.unwrap();
    }
}

#[tokio::test]
async fn a_read_of_many_pairs_is_the_same_as_its_pages() {
    // etcd-api.md §2/limit: 0 is all; the count is of the whole range.
    use pb::range_request::{SortOrder, SortTarget};
    let server = Running::start().await;
    fill(&server).await;
    let read = async |request| server.kv().range(request).await.unwrap().into_inner();
    let whole = read(all()).await;
    let page = pb::RangeRequest {
        limit: 600,
        ..all()
    };
    let first = read(page.clone()).await;
    let mut behind = first.kvs[599].key.to_vec();
    behind.push(0);
    let second = read(pb::RangeRequest {
        key: behind.into(),
        ..page
    })
    .await;
    let count = i64::try_from(MANY).unwrap();
    assert_eq!((whole.count, whole.more), (count, false));
    assert_eq!((first.count, first.more), (count, true));
    assert_eq!((second.count, second.more), (count - 600, false));
    assert_eq!(whole.kvs, [first.kvs, second.kvs].concat());
    let backwards = read(pb::RangeRequest {
        limit: 1,
        sort_order: SortOrder::Descend.into(),
        sort_target: SortTarget::Create.into(),
        ..all()
    })
    .await;
    assert_eq!((backwards.count, backwards.more), (count, true));
    assert_eq!(backwards.kvs[0].create_revision, 12);
}

#[tokio::test]
async fn a_read_of_many_pairs_is_refused_like_any_other() {
    // etcd-api.md §2/revision.
    let server = Running::start().await;
    fill(&server).await;
    let future = pb::RangeRequest {
        revision: 99,
        ..all()
    };
    let refused = server.kv().range(future).await.unwrap_err();
    assert_eq!(
        code_and_text(&refused),
        "OutOfRange: etcdserver: mvcc: required revision is a future revision"
    );
}

/// etcd-api.md §2/range-stream.
#[tokio::test]
async fn a_range_stream_does_not_sort_and_does_not_filter() {
    let server = Running::start().await;
    let sorted = pb::RangeRequest {
        sort_order: 2,
        ..all()
    };
    let refused = server.kv().range_stream(sorted).await.unwrap_err();
    let text = "Unimplemented: RangeStream does not support custom sort orders";
    assert_eq!(code_and_text(&refused), text);
    let filtered = pb::RangeRequest {
        min_mod_revision: 2,
        ..all()
    };
    let refused = server.kv().range_stream(filtered).await.unwrap_err();
    let text = "Unimplemented: RangeStream does not support revision filters";
    assert_eq!(code_and_text(&refused), text);
}

/// etcd-api.md §2/compact, etcd-api.md §2/revision.
#[tokio::test]
async fn the_compacted_revision_is_readable_and_what_is_before_it_is_not() {
    let server = Running::start().await;
    for value in ["1", "2", "3"] {
        server.put("a", value).await;
    }
    assert_eq!(server.compact(3).await, Ok(4));
    let compacted = "OutOfRange: etcdserver: mvcc: required revision has been compacted";
    assert_eq!(server.compact(3).await, Err(compacted.to_owned()));
    let future = "OutOfRange: etcdserver: mvcc: required revision is a future revision";
    assert_eq!(server.compact(9).await, Err(future.to_owned()));
    let at = |revision| pb::RangeRequest {
        revision,
        ..get("a")
    };
    let read = server.kv().range(at(3)).await.unwrap().into_inner();
    assert_eq!(read.kvs[0].value, "2");
    let gone = server.kv().range(at(2)).await.unwrap_err();
    assert_eq!(code_and_text(&gone), compacted);
}

#[tokio::test]
async fn what_is_not_there_yet_is_said_clearly() {
    let server = Running::start().await;
    let mut auth = pb::auth_client::AuthClient::new(server.channel());
    let refused = auth
        .auth_enable(pb::AuthEnableRequest {})
        .await
        .unwrap_err();
    assert_eq!(
        code_and_text(&refused),
        "Unimplemented: etcdserver: authentication is not implemented by lockstep store, which \
         runs a single member without authentication"
    );
    let mut cluster = pb::cluster_client::ClusterClient::new(server.channel());
    let added = cluster.member_add(pb::MemberAddRequest::default()).await;
    assert_eq!(added.unwrap_err().code(), tonic::Code::Unimplemented);
    let members = cluster
        .member_list(pb::MemberListRequest { linearizable: true })
        .await;
    let members = members.unwrap().into_inner();
    assert_eq!(members.members.len(), 1);
    assert_eq!(members.members[0].id, members.header.unwrap().member_id);
}

#[tokio::test]
async fn a_stopped_server_has_written_everything_down() {
    let server = Running::start().await;
    server.put("a", "1").await;
    let (folder, outcome) = server.stop().await;
    assert_eq!(outcome, Ok(()));
    let again = Running::start_on(folder, |_| {}).await;
    let read = again.kv().range(get("a")).await.unwrap().into_inner();
    assert_eq!((read.kvs[0].value.as_ref(), read.count), (&b"1"[..], 1));
}
