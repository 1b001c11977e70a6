//! Faults, one after the other.

use lockstep_mvcc::MemberId;
use lockstep_raftstore::{Cluster, MemberChange, member_id};
use lockstep_storage::contract::histories::Rng;

use crate::planted::Bug;

/// Members with a vote that a cluster has at most.
const VOTERS_MAX: usize = 5;

/// A fault, or the end of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// The process ends, and starts again later.
    Kill(MemberId),
    /// The power goes and comes back later.
    PowerOff(MemberId),
    /// The power goes everywhere.
    PowerOffAll,
    /// The process stands still.
    Pause(MemberId, u64),
    /// Its clock jumps ahead.
    Jump(MemberId, u64),
    /// Messages from some members to the others are lost.
    Partition {
        side: Vec<MemberId>,
        is_one_way: bool,
    },
    /// The network becomes unreliable.
    Chaos {
        lose_one_in: u64,
        duplicate_one_in: u64,
        delay_one_in: u64,
    },
    /// The leader ends, several members ask for votes at the same time, and some that voted end.
    Contest,
    /// The network becomes reliable.
    Heal,
    /// File operations take up to so many milliseconds.
    SlowDisk(MemberId, u64),
    Change(MemberChange),
    Transfer(MemberId),
}

/// Chooses the next fault.
pub(crate) fn choose(
    rng: &mut Rng,
    cluster: &Cluster,
    now: u64,
    bug: Option<Bug>,
    removed: &[MemberId],
) -> Fault {
    let members: Vec<_> = cluster.members().map(|(id, _)| id).collect();
    let nth = |rng: &mut Rng| {
        let nth = rng.below(members.len() as u64);
        members[usize::try_from(nth).unwrap_or_default()]
    };
    match rng.below(28) {
        0..=2 => Fault::Kill(nth(rng)),
        3..=5 => Fault::PowerOff(nth(rng)),
        6 => Fault::PowerOffAll,
        7..=9 => Fault::Pause(nth(rng), 100 + rng.below(6000)),
        10 => Fault::Jump(nth(rng), rng.below(20_000)),
        11..=13 => Fault::Partition {
            side: members.iter().copied().filter(|_| rng.one_in(2)).collect(),
            is_one_way: rng.one_in(2),
        },
        14 | 15 => Fault::Chaos {
            lose_one_in: rng.below(20),
            duplicate_one_in: rng.below(20),
            delay_one_in: rng.below(20),
        },
        16 | 17 => Fault::Heal,
        18 => Fault::Contest,
        19 => Fault::SlowDisk(nth(rng), rng.below(200)),
        20 => Fault::Transfer(nth(rng)),
        _ => Fault::Change(change(rng, cluster, now, bug, removed)),
    }
}

fn change(
    rng: &mut Rng,
    cluster: &Cluster,
    now: u64,
    bug: Option<Bug>,
    removed: &[MemberId],
) -> MemberChange {
    let voters: Vec<_> = cluster.voters().collect();
    let learner = cluster.learners().next();
    let pick = |rng: &mut Rng, from: &[MemberId]| {
        let nth = rng.below(from.len() as u64);
        from[usize::try_from(nth).unwrap_or_default()]
    };
    match (learner, rng.below(4)) {
        (Some(id), 0 | 1) => MemberChange::Promote { id },
        (Some(id), 2) => MemberChange::Remove { id },
        (None, 0 | 1) if voters.len() < VOTERS_MAX => {
            let peer_urls = vec![format!("http://host-{now}:2380")];
            let joined_at = i64::try_from(now).unwrap_or_default();
            let id = match bug {
                Some(Bug::ReuseMemberId) if !removed.is_empty() => pick(rng, removed),
                _ => member_id(&peer_urls, "simulated", Some(joined_at)),
            };
            MemberChange::Add {
                id,
                peer_urls,
                is_learner: rng.one_in(2),
            }
        }
        _ if voters.len() > 3 || rng.one_in(4) => MemberChange::Remove {
            id: pick(rng, &voters),
        },
        _ => MemberChange::Update {
            id: pick(rng, &voters),
            peer_urls: vec![format!("http://moved-{now}:2380")],
        },
    }
}
