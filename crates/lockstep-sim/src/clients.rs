//! Clients: random requests with unique values, and what became of them.

use std::collections::BTreeMap;

use bytes::Bytes;
use lockstep_mvcc::{
    CheckedTxn, Command, Compare, Comparison, DeleteRange, Key, KeyRange, LeaseId, Limits, Op,
    OpResponse, Predicate, Put, PutLease, Range, RangeResponse, Response, Revision, Txn,
};
use lockstep_raftstore::Outcome as Applied;
use lockstep_storage::Consistency;
use lockstep_storage::contract::histories::{Outcome, RecordedRequest, Request, Rng};

/// Few keys, so that requests of different clients conflict.
const KEYS: u64 = 4;
/// Distance between a compaction and the newest revision, so that most watchers survive it.
const COMPACTION_LAG: u64 = 40;

/// A request that waits in a process.
pub(crate) enum Asked {
    /// Of a client, by its number.
    Client(usize),
    /// Something without a recorded outcome.
    Other,
}

/// A client with one request at a time.
pub(crate) struct Client {
    name: usize,
    rng: Rng,
    /// The newest revision in any response so far.
    seen: Revision,
    changed: BTreeMap<Bytes, Revision>,
    written: u64,
    leases: Vec<LeaseId>,
    granted: i64,
    /// The request that is under way.
    pub(crate) asked: Option<RecordedRequest>,
}

/// Form of a request for a member.
pub(crate) enum Form {
    Write(Command),
    Linearizable,
    Serializable,
}

pub(crate) fn all_keys() -> KeyRange {
    KeyRange::prefix("k")
}

pub(crate) fn key(nth: u64) -> Key {
    Key::new(format!("k{nth}")).expect("not empty")
}

impl Client {
    pub(crate) fn new(name: usize, rng: Rng) -> Self {
        Self {
            name,
            rng,
            seen: Revision::FIRST,
            changed: BTreeMap::new(),
            written: 0,
            leases: Vec::new(),
            granted: 0,
            asked: None,
        }
    }

    /// A lease of this client.
    pub(crate) fn lease(&self) -> Option<LeaseId> {
        self.leases.last().copied()
    }

    pub(crate) fn choose(&mut self) -> Request {
        let (a, b) = (self.rng.below(KEYS), self.rng.below(KEYS - 1));
        // Never equal to `a`.
        let b = (a + 1 + b) % KEYS;
        let read = |nth| Op::Range(Range::new(KeyRange::single(key(nth))));
        let ops = |success| {
            Request::Txn(Txn {
                success,
                ..Txn::default()
            })
        };
        match self.rng.below(24) {
            0..=3 => ops(vec![self.put(a)]),
            4 => ops(vec![delete(a)]),
            5..=7 => Request::Txn(self.compare_and_put(a)),
            8 | 9 => ops(vec![self.put(a), read(a), self.put(b)]),
            10 => ops(vec![self.put(a), delete(b)]),
            11 => ops(vec![read(a), read(b)]),
            12..=14 => range(KeyRange::single(key(a)), Consistency::Linearizable),
            15 => range(KeyRange::single(key(a)), Consistency::Serializable),
            16 | 17 => range(all_keys(), Consistency::Linearizable),
            18 => {
                let back = self.rng.below(self.seen.0);
                let past = Range {
                    at: Some(Revision(self.seen.0 - back)),
                    ..Range::new(all_keys())
                };
                Request::Range(past, Consistency::Linearizable)
            }
            19 => self.grant(),
            20 if self.rng.one_in(2) => match self.leases.pop() {
                Some(lease) => Request::Revoke(lease),
                None => self.grant(),
            },
            21 if self.rng.one_in(3) && self.seen.0 > COMPACTION_LAG + 1 => {
                Request::Compact(Revision(self.seen.0 - COMPACTION_LAG))
            }
            _ => range(all_keys(), Consistency::Serializable),
        }
    }

    /// A put that no other request touches.
    pub(crate) fn last_put(&mut self) -> Request {
        let put = self.put(KEYS);
        Request::Txn(Txn {
            success: vec![put],
            ..Txn::default()
        })
    }

    /// True if the request under way is the last put, and this is its success.
    pub(crate) fn is_last(&self, outcome: &Outcome) -> bool {
        let Some(asked) = &self.asked else {
            return false;
        };
        let is_last_put = |op: &Op| matches!(op, Op::Put(put) if put.key == key(KEYS));
        match (&asked.request, outcome) {
            (Request::Txn(txn), Outcome::Txn(_)) => txn.success.iter().any(is_last_put),
            _ => false,
        }
    }

    fn grant(&mut self) -> Request {
        self.granted += 1;
        let name = i64::try_from(self.name).expect("few clients");
        Request::Grant(LeaseId((name + 1) * 1_000_000 + self.granted))
    }

    fn put(&mut self, nth: u64) -> Op {
        self.written += 1;
        let mut put = Put::new(key(nth), format!("{}-{}", self.name, self.written));
        if let Some(lease) = self.leases.last()
            && self.rng.one_in(3)
        {
            put.lease = PutLease::Set(*lease);
        }
        Op::Put(put)
    }

    /// Writes if the key is unchanged since this client's last read, otherwise reads it.
    fn compare_and_put(&mut self, nth: u64) -> Txn {
        let keys = KeyRange::single(key(nth));
        let seen = self.changed.get(key(nth).bytes()).copied();
        let at = i64::try_from(seen.unwrap_or(Revision::NONE).0).expect("revisions are small");
        Txn {
            compares: vec![Compare {
                keys: keys.clone(),
                comparison: Comparison::Equal,
                predicate: Predicate::ModRevision(at),
            }],
            success: vec![self.put(nth)],
            failure: vec![Op::Range(Range::new(keys))],
        }
    }

    /// Learns from the outcome of the request under way, and returns both.
    pub(crate) fn finish(&mut self, outcome: Outcome, now: u64) -> Option<RecordedRequest> {
        let mut recorded = self.asked.take()?;
        match (&recorded.request, &outcome) {
            (Request::Range(range, _), Outcome::Range(found)) => {
                self.seen = self.seen.max(found.revision);
                if range.at.is_none() {
                    self.learn(found);
                }
            }
            (_, Outcome::Txn(answer)) => {
                self.seen = self.seen.max(answer.revision);
                for response in &answer.responses {
                    if let OpResponse::Range(found) = response {
                        self.learn(found);
                    }
                }
            }
            (Request::Grant(lease), Outcome::Done) => self.leases.push(*lease),
            _ => {}
        }
        let is_answer = !matches!(outcome, Outcome::Uncertain);
        recorded.answered_at = is_answer.then_some(now);
        recorded.outcome = outcome;
        Some(recorded)
    }

    fn learn(&mut self, found: &RangeResponse) {
        let changed = found.kvs.iter().map(|kv| (kv.key.clone(), kv.mod_revision));
        self.changed.extend(changed);
    }
}

/// The form in which a member gets a request.
pub(crate) fn form(request: &Request, ttl_seconds: i64) -> Form {
    match request {
        Request::Txn(txn) => {
            let checked = checked(txn);
            if checked.as_read_only().is_some() {
                return Form::Linearizable;
            }
            Form::Write(Command::Txn(checked))
        }
        Request::Range(_, Consistency::Linearizable) => Form::Linearizable,
        Request::Range(_, Consistency::Serializable) => Form::Serializable,
        Request::Compact(at) => Form::Write(Command::Compact { at: *at }),
        Request::Grant(id) => Form::Write(Command::LeaseGrant {
            id: *id,
            ttl_seconds,
        }),
        Request::Revoke(id) => Form::Write(Command::LeaseRevoke { id: *id }),
    }
}

pub(crate) fn checked(txn: &Txn) -> CheckedTxn {
    let checked = txn.clone().check(Limits::default().txn_ops_max);
    checked.expect("the clients' transactions are well formed")
}

/// Outcome of a write that was applied.
pub(crate) fn applied(outcome: Applied) -> Outcome {
    let Applied::Command(applied) = outcome else {
        return Outcome::Refused;
    };
    match (applied.response, applied.effect) {
        (Ok(Response::Txn(answer)), _) => Outcome::Txn(answer),
        (
            Ok(Response::LeaseRevoke),
            lockstep_mvcc::Effect::LeaseRevoked {
                changed: Some(revision),
                ..
            },
        ) => Outcome::Revoked(revision),
        (Ok(_), _) => Outcome::Done,
        (Err(_), _) => Outcome::Refused,
    }
}

fn delete(nth: u64) -> Op {
    Op::DeleteRange(DeleteRange::new(KeyRange::single(key(nth))))
}

fn range(keys: KeyRange, consistency: Consistency) -> Request {
    Request::Range(Range::new(keys), consistency)
}
