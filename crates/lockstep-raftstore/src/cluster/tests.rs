//! Tests of the rules of the membership; they cite etcd-api.md §5.

use super::*;

const NONE_ACTIVE: fn(MemberId) -> bool = |_| false;
const ALL_ACTIVE: fn(MemberId) -> bool = |_| true;

fn urls(nth: u64) -> Vec<String> {
    vec![format!("http://host-{nth}:2380")]
}

fn add(id: u64, is_learner: bool) -> MemberChange {
    MemberChange::Add {
        id: MemberId(id),
        peer_urls: urls(id),
        is_learner,
    }
}

fn remove(id: u64) -> MemberChange {
    MemberChange::Remove { id: MemberId(id) }
}

fn publish(id: u64, boot: u64, seq: u64, name: &str) -> MemberChange {
    MemberChange::Publish {
        id: MemberId(id),
        publication: Publication {
            boot,
            seq,
            name: name.to_owned(),
            client_urls: vec![format!("http://host-{id}:2379")],
        },
    }
}

/// Members 1 to `count`, all of which have started.
fn started(count: u64) -> Cluster {
    let mut cluster = Cluster::first((1..=count).map(|id| (MemberId(id), urls(id))));
    for id in 1..=count {
        let told = cluster.apply(id, &publish(id, 1, 1, "started"));
        assert_eq!(told, Ok(()));
    }
    cluster
}

#[test]
fn a_removed_id_never_comes_back_and_its_late_publication_changes_nothing() {
    let mut cluster = started(3);
    assert_eq!(cluster.apply(4, &remove(3)), Ok(()));
    let without = cluster.clone();
    assert_eq!(cluster.apply(5, &add(3, true)), Err(ClusterError::IdExists));
    let late = cluster.apply(6, &publish(3, 9, 1, "late"));
    assert_eq!(late, Err(ClusterError::NotFound));
    assert_eq!(cluster, without);
    assert!(cluster.is_removed(MemberId(3)));
    let again = Cluster::decode(&cluster.encode()).expect("its own bytes");
    assert_eq!(again, cluster);
}

#[test]
fn urls_belong_to_one_member_and_an_update_keeps_the_learner_flag() {
    // etcd-api.md §5.
    let mut cluster = started(1);
    let taken = MemberChange::Add {
        id: MemberId(9),
        peer_urls: urls(1),
        is_learner: false,
    };
    assert_eq!(cluster.apply(2, &taken), Err(ClusterError::UrlExists));
    assert_eq!(cluster.apply(3, &add(2, true)), Ok(()));
    let moved = MemberChange::Update {
        id: MemberId(2),
        peer_urls: urls(7),
    };
    assert_eq!(cluster.apply(4, &moved), Ok(()));
    let member = cluster.member(MemberId(2)).expect("it is there");
    assert_eq!((&member.peer_urls, member.is_learner), (&urls(7), true));
}

#[test]
fn an_older_publication_never_replaces_a_newer_one() {
    let mut cluster = started(1);
    let name = |cluster: &Cluster| {
        let member = cluster.member(MemberId(1)).expect("it is there");
        member.publication.clone().expect("it has started").name
    };
    for (boot, seq, published, right) in [
        (2, 1, "two", "two"),
        (1, 9, "old boot", "two"),
        (2, 1, "again", "two"),
        (2, 2, "newer", "newer"),
    ] {
        let applied = cluster.apply(boot, &publish(1, boot, seq, published));
        assert_eq!(applied, Ok(()));
        assert_eq!(name(&cluster), right);
    }
}

#[test]
fn only_learners_are_promoted_and_the_last_voter_stays() {
    let mut cluster = started(1);
    let promote = |id| MemberChange::Promote { id: MemberId(id) };
    assert_eq!(
        cluster.apply(2, &promote(1)),
        Err(ClusterError::NotALearner)
    );
    assert_eq!(cluster.apply(3, &promote(5)), Err(ClusterError::NotFound));
    assert_eq!(cluster.apply(4, &add(2, true)), Ok(()));
    assert_eq!(cluster.apply(5, &remove(1)), Err(ClusterError::LastVoter));
    assert_eq!(cluster.apply(6, &promote(2)), Ok(()));
    assert_eq!(cluster.apply(7, &remove(1)), Ok(()));
    assert_eq!(cluster.voters().collect::<Vec<_>>(), [MemberId(2)]);
}

#[test]
fn a_change_that_could_cost_the_quorum_is_refused() {
    // etcd-api.md §5.
    let strict = ClusterLimits::default();
    let check = |cluster: &Cluster, change: &MemberChange, is_active: fn(MemberId) -> bool| {
        cluster.check(change, strict, is_active)
    };
    let three = started(3);
    assert_eq!(check(&three, &add(4, false), ALL_ACTIVE), Ok(()));
    let unhealthy = Err(ClusterError::Unhealthy);
    assert_eq!(check(&three, &add(4, false), |id| id.0 < 3), unhealthy);
    assert_eq!(check(&three, &remove(3), |id| id.0 == 1), unhealthy);
    assert_eq!(check(&three, &remove(3), |id| id.0 < 3), Ok(()));
    let mut waiting = started(3);
    for id in 4..=5 {
        assert_eq!(waiting.apply(id, &add(id, false)), Ok(()));
    }
    let few = Err(ClusterError::NotEnoughStarted);
    assert_eq!(check(&waiting, &add(6, false), ALL_ACTIVE), few);
    assert_eq!(check(&waiting, &remove(1), ALL_ACTIVE), few);
    assert_eq!(check(&waiting, &remove(5), ALL_ACTIVE), Ok(()));
    let lax = ClusterLimits {
        is_strict: false,
        ..strict
    };
    assert_eq!(waiting.check(&add(6, false), lax, NONE_ACTIVE), Ok(()));
    assert_eq!(check(&started(1), &add(2, false), ALL_ACTIVE), Ok(()));
}

#[test]
fn learners_are_limited_where_they_are_proposed_and_not_where_they_are_applied() {
    let limits = ClusterLimits::default();
    let mut cluster = started(1);
    assert_eq!(cluster.apply(2, &add(2, true)), Ok(()));
    let second = add(3, true);
    let refused = cluster.check(&second, limits, ALL_ACTIVE);
    assert_eq!(refused, Err(ClusterError::TooManyLearners));
    assert_eq!(cluster.apply(3, &second), Ok(()));
}
