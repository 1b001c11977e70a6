//! Messages that must have no effect.

use bytes::Bytes;
use lockstep_mvcc::MemberId;
use lockstep_raftstore::peer::{Body, RaftEntry, RaftMessage};
use lockstep_raftstore::{Envelope, Input, StopReason};

use crate::harness::Net;

/// Number of the message that proposes entries.
const PROPOSE: i32 = 2;
/// Number of the message that a leader sends to keep its term.
const HEARTBEAT: i32 = 8;

fn message(net: &Net, from: MemberId, to: MemberId, raft: RaftMessage) -> Envelope {
    Envelope {
        cluster_id: net.cluster_id.0,
        from: from.0,
        to: to.0,
        boot: 1,
        body: Some(Body::Raft(raft)),
    }
}

/// A heartbeat of a term that is far ahead, which every member follows.
fn heartbeat(net: &Net, from: MemberId, to: MemberId) -> Envelope {
    let raft = RaftMessage {
        kind: HEARTBEAT,
        from: from.0,
        term: 1000,
        ..RaftMessage::default()
    };
    message(net, from, to, raft)
}

fn term(net: &Net, id: MemberId) -> u64 {
    net.member(id).node().role().term
}

#[test]
fn messages_of_other_clusters_for_others_and_of_earlier_processes_are_not_heard() {
    let mut net = Net::start(3);
    let leader = net.elect();
    let mut others = net.ids.clone().into_iter().filter(|id| *id != leader);
    let (from, own) = (others.next().expect("three"), term(&net, leader));
    let right = heartbeat(&net, from, leader);
    let foreign = Envelope {
        cluster_id: 5,
        ..right.clone()
    };
    let misled = Envelope {
        to: from.0,
        ..right.clone()
    };
    let earlier = Envelope {
        boot: 0,
        ..right.clone()
    };
    for ignored in [foreign, misled, earlier] {
        net.input(leader, Input::Message(ignored));
        assert_eq!(term(&net, leader), own);
    }
    net.input(leader, Input::Message(right));
    assert_eq!(term(&net, leader), 1000);
}

#[test]
fn a_forwarded_change_of_members_is_dropped_before_the_library_parses_it() {
    let mut net = Net::start(3);
    let leader = net.elect();
    let from = net.ids.clone().into_iter().find(|id| *id != leader);
    let from = from.expect("three members");
    // The library's message to remove member 5.
    let entry = RaftEntry {
        kind: 1,
        data: Bytes::from_static(&[0x10, 1, 0x18, 5]),
        ..RaftEntry::default()
    };
    let raft = RaftMessage {
        kind: PROPOSE,
        from: from.0,
        entries: vec![entry],
        ..RaftMessage::default()
    };
    let last = net.member(leader).node().last();
    let forwarded = message(&net, from, leader, raft);
    net.input(leader, Input::Message(forwarded));
    assert_eq!(net.member(leader).node().last(), last);
}

#[test]
fn a_member_whose_disk_lost_entries_stops_instead_of_going_on_without_them() {
    let mut net = Net::start(3);
    let leader = net.elect();
    let id = net.ids.clone().into_iter().find(|id| *id != leader);
    let id = id.expect("three members");
    let (last, known) = (net.member(id).node().last().index, 5000);
    let raft = RaftMessage {
        kind: HEARTBEAT,
        from: leader.0,
        term: term(&net, leader),
        commit: known,
        ..RaftMessage::default()
    };
    let late = message(&net, leader, id, raft);
    // A message without a term would pass for one of the library itself.
    for term in [0, 1] {
        let ignored = Envelope {
            body: late.body.clone().map(|body| match body {
                Body::Raft(raft) => Body::Raft(RaftMessage { term, ..raft }),
                other => other,
            }),
            ..late.clone()
        };
        net.input(id, Input::Message(ignored));
        assert_eq!(net.stopped(id), None);
    }
    net.input(id, Input::Message(late));
    let reason = StopReason::EntriesLost { last, known };
    assert_eq!(net.stopped(id), Some(&reason));
}

#[test]
fn unknown_and_local_kinds_of_messages_are_dropped() {
    let mut net = Net::start(1);
    let leader = net.elect();
    for kind in [-1, 0, 1, 10, 11, 12, 19, i32::MAX] {
        let raft = RaftMessage {
            kind,
            from: leader.0,
            term: 1000,
            ..RaftMessage::default()
        };
        let envelope = message(&net, MemberId(5), leader, raft);
        net.input(leader, Input::Message(envelope));
        assert_eq!(net.leader(), Some(leader));
    }
}
