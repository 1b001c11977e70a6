//! Members that join, are promoted, leave and hand over; they cite etcd-api.md §5.

use lockstep_mvcc::MemberId;
use lockstep_raftstore::{
    ClusterError, First, Input, MemberChange, Outcome, Output, Refusal, RequestId, StopReason,
    peer::Body,
};

use crate::harness::Net;

fn change(net: &mut Net, at: MemberId, change: MemberChange) -> RequestId {
    net.ask(at, |request| Input::Change { request, change })
}

fn is_changed(net: &Net, request: RequestId) -> bool {
    matches!(
        net.answer(request),
        Some(Output::Applied {
            outcome: Outcome::Members(Ok(())),
            ..
        })
    )
}

fn learner(id: MemberId) -> MemberChange {
    MemberChange::Add {
        id,
        peer_urls: vec!["http://learner:2380".to_owned()],
        is_learner: true,
    }
}

#[test]
fn a_learner_gets_a_snapshot_in_pieces_and_is_promoted_once_it_has_all() {
    let mut net = Net::start(3);
    let leader = net.elect();
    for nth in 0..60 {
        net.put(leader, &format!("value {nth}"));
    }
    let id = MemberId(77);
    let added = change(&mut net, leader, learner(id));
    assert!(is_changed(&net, added));
    let early = change(&mut net, leader, MemberChange::Promote { id });
    let refusal = Refusal::Cluster(ClusterError::LearnerNotReady);
    let refused = Output::Refused {
        request: early,
        refusal,
    };
    assert_eq!(net.answer(early), Some(&refused));
    net.sent.clear();
    net.open(id, First::Joiner);
    (0..60).for_each(|_| net.tick());
    let pieces = net.sent.iter().filter_map(|envelope| match &envelope.body {
        Some(Body::Chunk(chunk)) => Some(chunk.bytes.len()),
        _ => None,
    });
    let pieces: Vec<_> = pieces.collect();
    assert!(pieces.len() > 10, "{pieces:?}");
    assert!(pieces.iter().all(|bytes| *bytes <= 100), "{pieces:?}");
    let state = |net: &Net, id| net.member(id).state().hash();
    assert_eq!(state(&net, id), state(&net, leader));
    let promoted = change(&mut net, leader, MemberChange::Promote { id });
    assert!(is_changed(&net, promoted));
    let voters = net.member(leader).state().cluster.voters();
    assert!(voters.into_iter().any(|voter| voter == id));
}

#[test]
fn a_removed_member_is_told_so_also_if_it_was_away_and_its_id_never_returns() {
    let mut net = Net::start(3);
    let leader = net.elect();
    let others = net.ids.clone().into_iter();
    let id = others.into_iter().find(|id| *id != leader).expect("three");
    net.away.insert(id);
    let removed = change(&mut net, leader, MemberChange::Remove { id });
    assert!(is_changed(&net, removed));
    assert_eq!(net.stopped(id), None);
    net.away.clear();
    (0..100).for_each(|_| net.tick());
    assert_eq!(net.stopped(id), Some(&StopReason::Removed));
    let back = change(&mut net, leader, learner(id));
    let refusal = Refusal::Cluster(ClusterError::IdExists);
    let request = back;
    assert_eq!(
        net.answer(back),
        Some(&Output::Refused { request, refusal })
    );
    assert_eq!(net.leader(), Some(leader));
}

#[test]
fn a_leader_that_is_to_be_removed_hands_over_and_the_next_one_removes_it() {
    let mut net = Net::start(2);
    let old = net.elect();
    let asked = change(&mut net, old, MemberChange::Remove { id: old });
    let refusal = Refusal::NotLeader;
    let refused = Output::Refused {
        request: asked,
        refusal,
    };
    assert_eq!(net.answer(asked), Some(&refused));
    let new = net.elect();
    assert_ne!(new, old);
    let removed = change(&mut net, new, MemberChange::Remove { id: old });
    assert!(is_changed(&net, removed));
    (0..100).for_each(|_| net.tick());
    assert_eq!(net.stopped(old), Some(&StopReason::Removed));
    let alone = net.put(new, "alone");
    assert!(matches!(net.answer(alone), Some(Output::Applied { .. })));
}

#[test]
fn the_leadership_moves_to_voters_only_and_from_the_leader_only() {
    // etcd-api.md §5.
    let mut net = Net::start(3);
    let leader = net.elect();
    let added = change(&mut net, leader, learner(MemberId(77)));
    assert!(is_changed(&net, added));
    let to = |to| move |request| Input::Transfer { request, to };
    let refused = |request, refusal| Output::Refused { request, refusal };
    let bad = net.ask(leader, to(MemberId(77)));
    assert_eq!(net.answer(bad), Some(&refused(bad, Refusal::BadTransferee)));
    let other = net.ids.clone().into_iter().find(|id| *id != leader);
    let other = other.expect("three members");
    let wrong = net.ask(other, to(other));
    assert_eq!(net.answer(wrong), Some(&refused(wrong, Refusal::NotLeader)));
    let moved = net.ask(leader, to(other));
    assert_eq!(net.answer(moved), Some(&Output::Done { request: moved }));
    assert_eq!(net.leader(), Some(other));
}
