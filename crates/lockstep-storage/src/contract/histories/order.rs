//! Order of requests: places every request at a revision and checks the responses against the model.

use std::collections::BTreeMap;

use lockstep_mvcc::{LeaseId, Range, Revision, Txn, TxnResponse};

use super::model::{State, changed, plain_answer, plain_read};
use super::watches::Deliveries;
use super::{Guarantee, History, Outcome, RecordedRequest, Request, Violation};
use crate::Consistency;

/// Step limit of the search for the places of uncertain writes.
const SEARCH_STEPS_MAX: usize = 1_000_000;

/// Position of a request in the order of revisions, according to its response.
enum Place {
    /// The request created this revision.
    Made(Revision),
    /// The request read this revision.
    Saw(Revision),
}

fn place(recorded: &RecordedRequest) -> Option<Place> {
    match &recorded.outcome {
        Outcome::Txn(answer) if changed(answer) => Some(Place::Made(answer.revision)),
        Outcome::Txn(answer) => Some(Place::Saw(answer.revision)),
        Outcome::Range(found) => Some(Place::Saw(found.revision)),
        Outcome::Revoked(revision) => Some(Place::Made(*revision)),
        Outcome::Refused | Outcome::Uncertain | Outcome::Done => None,
    }
}

/// Requests whose revision is older than one that was acknowledged before they were sent.
pub(super) fn real_time(history: &History) -> Vec<Violation> {
    let floors = Floors::of(history);
    let mut violations = Vec::new();
    for recorded in &history.requests {
        let is_serializable = matches!(
            recorded.request,
            Request::Range(_, Consistency::Serializable)
        );
        let floor = if is_serializable {
            floors.of_store(recorded.store, recorded.at)
        } else {
            floors.at(recorded.at)
        };
        let (is_late, revision) = match place(recorded) {
            Some(Place::Made(revision)) => (revision <= floor, revision),
            Some(Place::Saw(revision)) => (revision < floor, revision),
            None => continue,
        };
        if is_late {
            let what = format!(
                "revision {floor} was known before {:?} was sent, which was answered at {revision}",
                recorded.request
            );
            violations.push(Violation::new(Guarantee::RealTime, what));
        }
    }
    violations
}

/// The newest acknowledged revision at each logical time.
struct Floors {
    /// By logical time of the response, over all stores.
    all: BTreeMap<u64, Revision>,
    by_store: BTreeMap<usize, BTreeMap<u64, Revision>>,
}

impl Floors {
    fn of(history: &History) -> Self {
        let mut answers: Vec<_> = history
            .requests
            .iter()
            .filter_map(|recorded| {
                let (Place::Made(revision) | Place::Saw(revision)) = place(recorded)?;
                Some((recorded.answered_at?, recorded.store, revision))
            })
            .collect();
        answers.sort_unstable();
        let mut floors = Self {
            all: BTreeMap::new(),
            by_store: BTreeMap::new(),
        };
        for (at, store, revision) in answers {
            let of_store = floors.by_store.entry(store).or_default();
            for known in [&mut floors.all, of_store] {
                let newest = newest(known, u64::MAX).max(revision);
                known.insert(at, newest);
            }
        }
        floors
    }

    fn at(&self, time: u64) -> Revision {
        newest(&self.all, time)
    }

    fn of_store(&self, store: usize, time: u64) -> Revision {
        let known = self.by_store.get(&store);
        known.map_or(Revision::NONE, |known| newest(known, time))
    }
}

fn newest(known: &BTreeMap<u64, Revision>, before: u64) -> Revision {
    let last = known.range(..before).next_back();
    last.map_or(Revision::NONE, |(_, revision)| *revision)
}

/// Computes the state at every revision, if some order of the requests explains every response. Uncertain writes
/// are placed where watches delivered them; if no such order exists, the search ignores the watches, and
/// [`super::watches`] reports the wrong events.
pub(super) fn states(history: &History) -> Result<Vec<State>, Violation> {
    let deliveries = Deliveries::of(history);
    let find = |deliveries| {
        let mut search = Search::new(history, deliveries)?;
        let mut states = vec![State::empty(history.start)];
        search.check_seen(&states)?;
        search.extend(&mut states)?;
        Ok(states)
    };
    find(Some(&deliveries)).or_else(|_: Violation| find(None))
}

struct Search<'a> {
    end: Revision,
    /// The write that created a revision, with its response.
    made: BTreeMap<Revision, (Write<'a>, Option<&'a TxnResponse>)>,
    /// Requests that read at a revision.
    saw: BTreeMap<Revision, Vec<&'a RecordedRequest>>,
    uncertain: Vec<Uncertain<'a>>,
    /// Events delivered by watches; `None` if the search ignores them.
    deliveries: Option<&'a Deliveries<'a>>,
    floors: Floors,
    steps_left: usize,
}

/// A write.
#[derive(Clone, Copy, Debug)]
enum Write<'a> {
    Txn(&'a Txn),
    /// On request, or because the lease expired.
    Revoke(LeaseId),
}

impl Write<'_> {
    fn after(self, state: &State) -> (State, Option<TxnResponse>) {
        match self {
            Self::Txn(txn) => {
                let (next, answer) = state.after(txn);
                (next, Some(answer))
            }
            Self::Revoke(lease) => (state.after_revocation(lease), None),
        }
    }
}

/// A write whose outcome is uncertain.
#[derive(Clone, Copy)]
struct Uncertain<'a> {
    write: Write<'a>,
    sent_at: u64,
    /// True once the search assigned a revision to the write.
    is_placed: bool,
}

impl<'a> Search<'a> {
    fn new(
        history: &'a History,
        deliveries: Option<&'a Deliveries<'a>>,
    ) -> Result<Self, Violation> {
        let mut search = Self {
            end: history.end,
            made: BTreeMap::new(),
            saw: BTreeMap::new(),
            uncertain: Vec::new(),
            deliveries,
            floors: Floors::of(history),
            steps_left: SEARCH_STEPS_MAX,
        };
        let known = history.start..=history.end;
        for recorded in &history.requests {
            match (place(recorded), &recorded.request, &recorded.outcome) {
                (Some(Place::Made(at) | Place::Saw(at)), ..) if !known.contains(&at) => {
                    let what = format!("{recorded:?} was answered at a revision that never was");
                    return Err(Violation::new(Guarantee::Sequential, what));
                }
                (Some(Place::Made(at)), Request::Txn(txn), Outcome::Txn(answer)) => {
                    search.made_by(at, Write::Txn(txn), Some(answer))?;
                }
                (Some(Place::Made(at)), Request::Revoke(lease), _) => {
                    search.made_by(at, Write::Revoke(*lease), None)?;
                }
                (Some(Place::Saw(at)), ..) => search.saw.entry(at).or_default().push(recorded),
                (None, Request::Txn(txn), Outcome::Uncertain) => {
                    search.uncertain(recorded, Write::Txn(txn));
                }
                (None, Request::Revoke(lease), Outcome::Uncertain)
                | (None, Request::Grant(lease), Outcome::Done | Outcome::Uncertain) => {
                    search.uncertain(recorded, Write::Revoke(*lease));
                }
                _ => {}
            }
        }
        Ok(search)
    }

    fn made_by(
        &mut self,
        at: Revision,
        write: Write<'a>,
        answer: Option<&'a TxnResponse>,
    ) -> Result<(), Violation> {
        if let Some((other, _)) = self.made.insert(at, (write, answer)) {
            let what = format!("revision {at} was made by {other:?} and {write:?}");
            return Err(Violation::new(Guarantee::OneWriteARevision, what));
        }
        Ok(())
    }

    fn uncertain(&mut self, recorded: &RecordedRequest, write: Write<'a>) {
        self.uncertain.push(Uncertain {
            write,
            sent_at: recorded.at,
            is_placed: false,
        });
    }

    /// Adds states up to the end of the history. Backtracks over the choice of uncertain writes when a later
    /// response does not fit.
    fn extend(&mut self, states: &mut Vec<State>) -> Result<(), Violation> {
        let first = states.len();
        while let Some(last) = states.last()
            && last.revision < self.end
        {
            let at = last.revision.next();
            let Some((write, answer)) = self.made.get(&at).copied() else {
                let found = self.choose(states, at);
                if found.is_err() {
                    states.truncate(first);
                }
                return found;
            };
            let (next, right) = write.after(last);
            if next.revision != at || right != answer.map(plain_answer) {
                let what = format!("{write:?} was answered by {answer:?}, right is {right:?}");
                states.truncate(first);
                return Err(Violation::new(Guarantee::Sequential, what));
            }
            states.push(next);
            if let Err(violation) = self.check_seen(states) {
                states.truncate(first);
                return Err(violation);
            }
        }
        Ok(())
    }

    /// Tries the uncertain writes as the creator of a revision that no response mentions.
    fn choose(&mut self, states: &mut Vec<State>, at: Revision) -> Result<(), Violation> {
        let unexplained = format!("revision {at} was made by no request");
        let mut why = Violation::new(Guarantee::OneWriteARevision, unexplained);
        let last = states.last().expect("there is a first state").clone();
        let candidates: Vec<_> = self.candidates(&last, at).collect();
        for (nth, next) in candidates {
            self.steps_left = self.steps_left.saturating_sub(1);
            if self.steps_left == 0 {
                let what = format!("no order was found in {SEARCH_STEPS_MAX} steps");
                return Err(Violation::new(Guarantee::Sequential, what));
            }
            self.uncertain[nth].is_placed = true;
            states.push(next);
            let rest = self.check_seen(states).and_then(|()| self.extend(states));
            match rest {
                Ok(()) => return Ok(()),
                Err(violation) => why = violation,
            }
            states.pop();
            self.uncertain[nth].is_placed = false;
        }
        Err(why)
    }

    /// Unplaced uncertain writes that would create revision `at`, with the resulting states.
    fn candidates(&self, last: &State, at: Revision) -> impl Iterator<Item = (usize, State)> {
        let all = self.uncertain.iter().enumerate();
        all.filter_map(move |(nth, uncertain)| {
            if uncertain.is_placed || self.floors.at(uncertain.sent_at) >= at {
                return None;
            }
            let (next, _) = uncertain.write.after(last);
            (next.revision == at).then_some((nth, next))
        })
    }

    /// Checks all reads at the newest state.
    fn check_seen(&self, states: &[State]) -> Result<(), Violation> {
        let state = states.last().expect("there is a first state");
        if self
            .deliveries
            .is_some_and(|deliveries| !deliveries.fits(state))
        {
            let what = format!("watches delivered other events than {state:?}");
            return Err(Violation::new(Guarantee::Reliable, what));
        }
        let seen = self.saw.get(&state.revision).into_iter().flatten();
        for recorded in seen {
            let right = match (&recorded.request, &recorded.outcome) {
                (Request::Txn(txn), Outcome::Txn(answer)) => {
                    let (next, right) = state.after(txn);
                    next.changes.is_empty() && right == plain_answer(answer)
                }
                (Request::Range(range, _), Outcome::Range(found)) => read_at(states, range)
                    .is_some_and(|state| state.read(range) == plain_read(found)),
                _ => true,
            };
            if !right {
                let what = format!("{recorded:?} does not fit {state:?}");
                return Err(Violation::new(Guarantee::Sequential, what));
            }
        }
        Ok(())
    }
}

/// The state that a read refers to.
fn read_at<'s>(states: &'s [State], range: &Range) -> Option<&'s State> {
    let Some(at) = range.at else {
        return states.last();
    };
    let first = states.first()?.revision.0;
    states.get(usize::try_from(at.0.checked_sub(first)?).ok()?)
}
