//! Writes and reads.

use lockstep_raftstore::{Input, Outcome, Output, Refusal};

use crate::harness::Net;

#[test]
fn a_write_is_answered_once_a_quorum_has_it_on_disk_and_not_before() {
    let mut net = Net::start(3);
    let leader = net.elect();
    let others = net.ids.clone().into_iter().filter(|id| *id != leader);
    net.stuck.extend(others.take(1));
    let answered = net.put(leader, "a");
    let Some(Output::Applied {
        outcome: Outcome::Command(_),
        ..
    }) = net.answer(answered)
    else {
        panic!("two of three disks are enough");
    };
    let all = net.ids.clone();
    net.stuck.extend(all.into_iter().filter(|id| *id != leader));
    let waiting = net.put(leader, "b");
    assert_eq!(net.answer(waiting), None);
}

#[test]
fn a_write_without_a_leader_is_refused_and_one_whose_leader_vanished_is_uncertain() {
    let mut net = Net::start(3);
    let first = net.ids[0];
    let request = net.put(first, "a");
    let refusal = Refusal::NoLeader;
    assert_eq!(
        net.answer(request),
        Some(&Output::Refused { request, refusal })
    );
    assert!(!refusal.is_uncertain());
    let leader = net.elect();
    net.away.insert(leader);
    let request = net.put(leader, "b");
    assert_eq!(net.answer(request), None);
    (0..100).for_each(|_| net.tick());
    let refusal = Refusal::TimedOut;
    assert_eq!(
        net.answer(request),
        Some(&Output::Refused { request, refusal })
    );
    assert!(refusal.is_uncertain());
}

#[test]
fn a_read_at_a_leader_that_was_cut_off_is_never_answered_from_its_old_state() {
    // etcd-api.md §13: stale linearizable reads after a pause and across a leader change.
    let mut net = Net::start(3);
    let old = net.elect();
    net.away.insert(old);
    let read = net.ask(old, |request| Input::Read { request });
    assert!(net.member(old).node().role().is_leader);
    let new = net.elect();
    net.put(new, "newer");
    assert_eq!(net.answer(read), None);
    net.away.clear();
    for _ in 0..10 {
        net.tick();
    }
    match net.answer(read) {
        Some(Output::ReadReady { .. }) => {
            let newest = net.member(new).state().machine.revision();
            assert_eq!(net.member(old).state().machine.revision(), newest);
        }
        Some(Output::Refused { .. }) => {}
        other => panic!("the read was answered by {other:?}"),
    }
}

#[test]
fn every_member_reads_what_was_acknowledged() {
    let mut net = Net::start(3);
    let leader = net.elect();
    net.put(leader, "a");
    for id in net.ids.clone() {
        let read = net.ask(id, |request| Input::Read { request });
        (0..10).for_each(|_| net.tick());
        assert_eq!(net.answer(read), Some(&Output::ReadReady { request: read }));
        let revision = net.member(id).state().machine.revision();
        assert_eq!(revision, net.member(leader).state().machine.revision());
    }
}

#[test]
fn leases_are_kept_alive_by_the_leader_alone() {
    // etcd-api.md §4.
    let mut net = Net::start(3);
    let leader = net.elect();
    let lease = lockstep_mvcc::LeaseId(7);
    let grant = lockstep_mvcc::Command::LeaseGrant {
        id: lease,
        ttl_seconds: 5,
    };
    net.ask(leader, |request| Input::Propose {
        request,
        command: grant,
    });
    let kept = net.ask(leader, |request| Input::KeepAlive { request, lease });
    let ttl_seconds = Some(5);
    let request = kept;
    assert_eq!(
        net.answer(kept),
        Some(&Output::KeptAlive {
            request,
            ttl_seconds
        })
    );
    let others = net.ids.clone().into_iter();
    for other in others.filter(|id| *id != leader) {
        let request = net.ask(other, |request| Input::KeepAlive { request, lease });
        let refusal = Refusal::NotLeader;
        assert_eq!(
            net.answer(request),
            Some(&Output::Refused { request, refusal })
        );
    }
}
