//! etcd-api.md §5.

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_store::SnapshotError;
use pb::alarm_request::AlarmAction;
use sha2::{Digest, Sha256};

use crate::harness::{Running, code_and_text, put};

pub(crate) async fn alarm(
    server: &Running,
    action: AlarmAction,
    member_id: u64,
    alarm: pb::AlarmType,
) -> Vec<pb::AlarmMember> {
    let request = pb::AlarmRequest {
        action: action.into(),
        member_id,
        alarm: alarm.into(),
    };
    server
        .maintenance()
        .alarm(request)
        .await
        .unwrap()
        .into_inner()
        .alarms
}

/// etcd-api.md §5/status.
#[tokio::test]
async fn status_tells_the_level_the_sizes_and_the_alarms() {
    let server = Running::start().await;
    server.put("a", "1").await;
    let status = server
        .maintenance()
        .status(pb::StatusRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(status.version, "3.7.0");
    assert_eq!(
        (
            status.raft_index,
            status.raft_applied_index,
            status.raft_term
        ),
        (1, 1, 2)
    );
    assert_eq!(status.leader, status.header.unwrap().member_id);
    assert_eq!(status.db_size_quota, 2 << 30);
    assert!(status.db_size > 0, "{status:?}");
    assert_eq!(status.errors, [""; 0]);
    alarm(&server, AlarmAction::Activate, 9, pb::AlarmType::Nospace).await;
    let status = server
        .maintenance()
        .status(pb::StatusRequest {})
        .await
        .unwrap()
        .into_inner();
    assert_eq!(status.errors, ["memberID:9 alarm:NOSPACE "]);
}

/// etcd-api.md §5/alarm.
#[tokio::test]
async fn alarms_are_raised_listed_and_cleared_for_one_member_or_all() {
    let server = Running::start().await;
    let nospace = pb::AlarmType::Nospace;
    let of = |member_id| pb::AlarmMember {
        member_id,
        alarm: nospace.into(),
    };
    for member in [4, 3] {
        let raised = alarm(&server, AlarmAction::Activate, member, nospace).await;
        assert_eq!(raised, [of(member)]);
    }
    assert_eq!(
        alarm(&server, AlarmAction::Get, 0, pb::AlarmType::None).await,
        [of(3), of(4)]
    );
    let refused = server.kv().put(put("a", "1")).await.unwrap_err();
    let text = "ResourceExhausted: etcdserver: mvcc: database space exceeded";
    assert_eq!(code_and_text(&refused), text);
    let (folder, _) = server.stop().await;
    let server = Running::start_on(folder, |_| {}).await;
    assert_eq!(
        alarm(&server, AlarmAction::Deactivate, 3, nospace).await,
        [of(3)]
    );
    assert_eq!(
        alarm(&server, AlarmAction::Deactivate, 0, nospace).await,
        [of(4)]
    );
    assert_eq!(
        alarm(&server, AlarmAction::Get, 0, pb::AlarmType::None).await,
        []
    );
    assert_eq!(server.put("a", "1").await, 2);
}

/// etcd-api.md §8/corrupt.
#[tokio::test]
async fn a_corrupt_store_refuses_reads_and_writes() {
    let server = Running::start().await;
    alarm(&server, AlarmAction::Activate, 1, pb::AlarmType::Corrupt).await;
    let text = "DataLoss: etcdserver: corrupt cluster";
    let write = server.kv().put(put("a", "1")).await.unwrap_err();
    assert_eq!(code_and_text(&write), text);
    let read = server.kv().range(crate::harness::all()).await.unwrap_err();
    assert_eq!(code_and_text(&read), text);
}

/// etcd-api.md §5/hash.
#[tokio::test]
async fn a_hash_depends_on_the_revision_and_on_nothing_else() {
    let one = Running::start().await;
    let two = Running::start_with(|config| config.cluster_token = "two".into()).await;
    for server in [&one, &two] {
        server.put("a", "1").await;
        server.put("a", "2").await;
    }
    two.put("a", "3").await;
    let hash = async |server: &Running, revision| {
        let answer = server
            .maintenance()
            .hash_kv(pb::HashKvRequest { revision })
            .await;
        let answer = answer
            .map_err(|status| code_and_text(&status))?
            .into_inner();
        Ok::<_, String>((answer.hash, answer.hash_revision, answer.compact_revision))
    };
    assert_eq!(hash(&one, 0).await, hash(&two, 3).await);
    assert_ne!(hash(&one, 2).await, hash(&one, 3).await);
    let future = "OutOfRange: etcdserver: mvcc: required revision is a future revision";
    assert_eq!(hash(&one, 4).await, Err(future.to_owned()));
    one.compact(3).await.unwrap();
    let gone = "OutOfRange: etcdserver: mvcc: required revision has been compacted";
    assert_eq!(hash(&one, 2).await, Err(gone.to_owned()));
}

/// etcd-api.md §5/snapshot.
#[tokio::test]
async fn a_snapshot_is_whole_blocks_and_their_checksum_with_the_machine_inside() {
    let server = Running::start().await;
    for number in 0..200 {
        server.put(&format!("k{number}"), &"v".repeat(1000)).await;
    }
    let snapshot = server.maintenance().snapshot(pb::SnapshotRequest {}).await;
    let mut snapshot = snapshot.unwrap().into_inner();
    let (mut bytes, mut remaining) = (Vec::new(), Vec::new());
    while let Some(part) = snapshot.message().await.unwrap() {
        assert_eq!(part.version, "3.7.0");
        remaining.push(part.remaining_bytes + bytes.len() as u64 + part.blob.len() as u64);
        bytes.extend_from_slice(&part.blob);
    }
    let (body, checksum) = bytes.split_last_chunk::<32>().unwrap();
    assert_eq!(body.len() % 512, 0);
    assert_eq!(Sha256::digest(body).as_slice(), checksum);
    let all_but_last = &remaining[..remaining.len() - 1];
    assert_eq!(all_but_last, vec![body.len() as u64; all_but_last.len()]);
    let length = body[32..40].try_into().map(u64::from_le_bytes).unwrap();
    let state = &body[512..][..usize::try_from(length).unwrap()];
    let machine = lockstep_mvcc::Machine::decode(state).unwrap();
    assert_eq!(machine.revision().0, 201);
    assert_eq!(&body[..8], b"locksnap");
    let read = lockstep_store::read_snapshot(&bytes).unwrap();
    assert_eq!(read.encode(), machine.encode());
    let refused = |bytes: &[u8]| {
        lockstep_store::read_snapshot(bytes)
            .map(|_| ())
            .unwrap_err()
    };
    assert_eq!(refused(b""), SnapshotError::NotASnapshot);
    assert_eq!(refused(b"SQLite format 3"), SnapshotError::NotASnapshot);
    assert_eq!(refused(&bytes[..12]), SnapshotError::Checksum);
    assert_eq!(refused(&bytes[1..]), SnapshotError::NotASnapshot);
    assert_eq!(refused(&bytes[..bytes.len() - 1]), SnapshotError::Checksum);
    let mut changed = bytes.clone();
    changed[600] ^= 1;
    assert_eq!(refused(&changed), SnapshotError::Checksum);
    changed[8] = 9;
    assert_eq!(refused(&changed), SnapshotError::UnknownFormat { found: 9 });
}

/// etcd-api.md §5/defragment.
#[tokio::test]
async fn a_defragmented_member_answers_as_before() {
    let server = Running::start().await;
    server.put("a", "1").await;
    let request = pb::DefragmentRequest {};
    let answer = server
        .maintenance()
        .defragment(request)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(answer.header.unwrap().revision, 2);
    assert_eq!(server.put("a", "2").await, 3);
}

/// etcd-api.md §5/move-leader.
#[tokio::test]
async fn leadership_stays_where_it_is() {
    let server = Running::start().await;
    let request = pb::MoveLeaderRequest { target_id: 1 };
    let refused = server.maintenance().move_leader(request).await.unwrap_err();
    assert_eq!(
        code_and_text(&refused),
        "FailedPrecondition: etcdserver: bad leader transferee"
    );
}
