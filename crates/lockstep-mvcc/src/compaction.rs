//! Periodic compaction by several servers of one store, as kube-apiserver does it.
//!
//! All servers share [`COMPACTION_KEY`], whose version counts the compactions and whose value is the revision of the
//! latest one. Once in each interval, a server tries to raise the version that it knows by one. If that succeeds, it
//! compacts up to the revision that the store had at its previous attempt; if not, another server did so, and it
//! learns the version. A key's history is therefore kept for at least one interval and at most two.
//!
//! kube-apiserver uses the same key in the same way, so servers of both kinds on one store share the work.

use bytes::Bytes;

use crate::{
    CheckedTxn, Compare, Comparison, Key, KeyRange, Limits, Op, OpResponse, Predicate, Put, Range,
    Revision, Txn, TxnResponse,
};

/// Key through which servers agree on compactions.
pub const COMPACTION_KEY: &str = "compact_rev_key";

/// One server's view of the compactions of a store. Uses no clock: the caller attempts one claim in each interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompactionPlan {
    /// Expected version of the key.
    version: i64,
    /// Revision of the store at the previous attempt; [`Revision::NONE`] before the first.
    previous: Revision,
}

/// Result of an attempt to claim a compaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim {
    /// This server has to compact up to the revision.
    Won(Revision),
    /// This server created the key, and there is no earlier revision to compact to.
    First,
    /// Another server compacts up to the revision, if the key holds one.
    Lost(Option<Revision>),
}

impl CompactionPlan {
    /// Transaction that attempts a claim.
    pub fn claim(&self) -> CheckedTxn {
        let key = compaction_key();
        let keys = KeyRange::single(key.clone());
        let txn = Txn {
            compares: vec![Compare {
                keys: keys.clone(),
                comparison: Comparison::Equal,
                predicate: Predicate::Version(self.version),
            }],
            success: vec![Op::Put(Put::new(key, self.previous.0.to_string()))],
            failure: vec![Op::Range(Range::new(keys))],
        };
        let checked = txn.check(Limits::default().txn_ops_max);
        checked.expect("the transaction writes one key")
    }

    /// Takes in the response to [`CompactionPlan::claim`]. Without a response, the next attempt repeats the claim.
    pub fn take_in(&mut self, response: &TxnResponse) -> Claim {
        let to = std::mem::replace(&mut self.previous, response.revision);
        if response.succeeded {
            self.version = self.version.saturating_add(1);
            return if to == Revision::NONE {
                Claim::First
            } else {
                Claim::Won(to)
            };
        }
        let found = match response.responses.first() {
            Some(OpResponse::Range(range)) => range.kvs.first(),
            _ => None,
        };
        self.version = found.map_or(0, |kv| i64::try_from(kv.version).unwrap_or(i64::MAX));
        Claim::Lost(found.and_then(|kv| compacted_revision(&kv.value)))
    }
}

/// [`COMPACTION_KEY`] as a key.
pub fn compaction_key() -> Key {
    Key::new(Bytes::from_static(COMPACTION_KEY.as_bytes())).expect("the key is not empty")
}

/// Revision in the value of [`COMPACTION_KEY`]; none before the first compaction.
pub fn compacted_revision(value: &[u8]) -> Option<Revision> {
    let number = std::str::from_utf8(value).ok()?.parse().ok()?;
    Some(Revision(number)).filter(|revision| *revision > Revision::NONE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, Machine, Response};

    fn claim(plan: &mut CompactionPlan, machine: &mut Machine) -> Claim {
        match machine.apply(Command::Txn(plan.claim())).response {
            Ok(Response::Txn(response)) => plan.take_in(&response),
            other => panic!("{other:?}"),
        }
    }

    fn write(machine: &mut Machine, times: usize) {
        for _ in 0..times {
            let key = Key::new("k").unwrap();
            machine.apply(Command::Put(Put::new(key, "v")));
        }
    }

    fn value(machine: &Machine) -> (u64, String) {
        let range = Range::new(KeyRange::single(compaction_key()));
        let kv = machine.range(&range).unwrap().kvs.remove(0);
        (kv.version, String::from_utf8(kv.value.to_vec()).unwrap())
    }

    #[test]
    fn history_is_kept_for_one_interval_and_at_most_two() {
        // etcd-api.md §11.
        let (mut machine, mut plan) = (Machine::default(), CompactionPlan::default());
        assert_eq!(claim(&mut plan, &mut machine), Claim::First);
        assert_eq!(value(&machine), (1, "0".to_owned()));
        write(&mut machine, 5);
        // The claims are revisions 2 and 8.
        assert_eq!(claim(&mut plan, &mut machine), Claim::Won(Revision(2)));
        assert_eq!(value(&machine), (2, "2".to_owned()));
        write(&mut machine, 3);
        assert_eq!(claim(&mut plan, &mut machine), Claim::Won(Revision(8)));
        assert_eq!(value(&machine), (3, "8".to_owned()));
    }

    #[test]
    fn one_of_two_servers_wins_each_interval_and_the_other_takes_over() {
        let mut machine = Machine::default();
        let (mut first, mut second) = (CompactionPlan::default(), CompactionPlan::default());
        assert_eq!(claim(&mut first, &mut machine), Claim::First);
        assert_eq!(claim(&mut second, &mut machine), Claim::Lost(None));
        write(&mut machine, 1);
        assert_eq!(claim(&mut first, &mut machine), Claim::Won(Revision(2)));
        let lost = Claim::Lost(Some(Revision(2)));
        assert_eq!(claim(&mut second, &mut machine), lost);
        // The first server has stopped.
        write(&mut machine, 1);
        assert_eq!(claim(&mut second, &mut machine), Claim::Won(Revision(4)));
        // It is back, knows nothing, and learns the version.
        let mut first = CompactionPlan::default();
        let lost = Claim::Lost(Some(Revision(4)));
        assert_eq!(claim(&mut first, &mut machine), lost);
        assert_eq!(claim(&mut first, &mut machine), Claim::Won(Revision(6)));
    }

    #[test]
    fn a_value_that_is_no_revision_is_none() {
        for (value, expected) in [
            ("0", None),
            ("", None),
            ("-1", None),
            ("x", None),
            ("17", Some(Revision(17))),
        ] {
            assert_eq!(compacted_revision(value.as_bytes()), expected, "{value}");
        }
    }
}
