//! The order of requests: which revision each made or saw, and whether that can be.

use std::collections::BTreeMap;

use lockstep_mvcc::{Range, Revision, Txn, TxnResponse};

use super::model::{State, changed, plain_answer, plain_read};
use super::watches::Told;
use super::{Asked, Guarantee, History, Outcome, Request, Violation};
use crate::Consistency;

/// How many steps the search for the places of uncertain writes may take.
const SEARCH_STEPS_MAX: usize = 1_000_000;

/// What an answer says about where its request stands in the order of revisions.
enum Place {
    /// It made this revision.
    Made(Revision),
    /// It saw this one.
    Saw(Revision),
}

fn place(asked: &Asked) -> Option<Place> {
    match &asked.outcome {
        Outcome::Txn(answer) if changed(answer) => Some(Place::Made(answer.revision)),
        Outcome::Txn(answer) => Some(Place::Saw(answer.revision)),
        Outcome::Range(found) => Some(Place::Saw(found.revision)),
        Outcome::Refused | Outcome::Uncertain | Outcome::Done => None,
    }
}

/// Requests that stand before one that was answered before they were asked.
pub(super) fn real_time(history: &History) -> Vec<Violation> {
    let floors = Floors::of(history);
    let mut violations = Vec::new();
    for asked in &history.requests {
        let is_serializable = matches!(asked.request, Request::Range(_, Consistency::Serializable));
        let floor = if is_serializable {
            floors.of_store(asked.store, asked.at)
        } else {
            floors.at(asked.at)
        };
        let (is_late, revision) = match place(asked) {
            Some(Place::Made(revision)) => (revision <= floor, revision),
            Some(Place::Saw(revision)) => (revision < floor, revision),
            None => continue,
        };
        if is_late {
            let what = format!(
                "revision {floor} was known before {:?} was asked, which was answered at {revision}",
                asked.request
            );
            violations.push(Violation::new(Guarantee::RealTime, what));
        }
    }
    violations
}

/// The newest revision that was known at any time.
struct Floors {
    /// By the time of the answer, over all stores.
    all: BTreeMap<u64, Revision>,
    by_store: BTreeMap<usize, BTreeMap<u64, Revision>>,
}

impl Floors {
    fn of(history: &History) -> Self {
        let mut answers: Vec<_> = history
            .requests
            .iter()
            .filter_map(|asked| {
                let (Place::Made(revision) | Place::Saw(revision)) = place(asked)?;
                Some((asked.answered_at?, asked.store, revision))
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

/// The state at every revision from the start on, if there is an order of the requests that gives
/// every answer. Uncertain writes are placed where watches saw them, unless that fits nowhere: then
/// it is for [`super::watches`] to say what the watches were told wrong.
pub(super) fn states(history: &History) -> Result<Vec<State>, Violation> {
    let told = Told::of(history);
    let find = |told| {
        let mut search = Search::new(history, told)?;
        let mut states = vec![State::empty(history.start)];
        search.check_seen(&states)?;
        search.extend(&mut states)?;
        Ok(states)
    };
    find(Some(&told)).or_else(|_: Violation| find(None))
}

struct Search<'a> {
    end: Revision,
    /// Who made a revision, with the answer.
    made: BTreeMap<Revision, (&'a Txn, &'a TxnResponse)>,
    /// Who saw a revision.
    saw: BTreeMap<Revision, Vec<&'a Asked>>,
    uncertain: Vec<Uncertain<'a>>,
    /// What watches were told, if it has to fit.
    told: Option<&'a Told<'a>>,
    floors: Floors,
    steps_left: usize,
}

/// A write that may have happened.
#[derive(Clone, Copy)]
struct Uncertain<'a> {
    txn: &'a Txn,
    asked_at: u64,
    /// Whether it has found its place.
    is_placed: bool,
}

impl<'a> Search<'a> {
    fn new(history: &'a History, told: Option<&'a Told<'a>>) -> Result<Self, Violation> {
        let mut search = Self {
            end: history.end,
            made: BTreeMap::new(),
            saw: BTreeMap::new(),
            uncertain: Vec::new(),
            told,
            floors: Floors::of(history),
            steps_left: SEARCH_STEPS_MAX,
        };
        let known = history.start..=history.end;
        for asked in &history.requests {
            match (place(asked), &asked.request, &asked.outcome) {
                (Some(Place::Made(at) | Place::Saw(at)), ..) if !known.contains(&at) => {
                    let what = format!("{asked:?} was answered at a revision that never was");
                    return Err(Violation::new(Guarantee::Sequential, what));
                }
                (Some(Place::Made(at)), Request::Txn(txn), Outcome::Txn(answer)) => {
                    if let Some((other, _)) = search.made.insert(at, (txn, answer)) {
                        let what = format!("revision {at} was made by {other:?} and {txn:?}");
                        return Err(Violation::new(Guarantee::OneWriteARevision, what));
                    }
                }
                (Some(Place::Saw(at)), ..) => search.saw.entry(at).or_default().push(asked),
                (None, Request::Txn(txn), Outcome::Uncertain) => {
                    search.uncertain.push(Uncertain {
                        txn,
                        asked_at: asked.at,
                        is_placed: false,
                    });
                }
                _ => {}
            }
        }
        Ok(search)
    }

    /// Adds states up to the end. Goes back to where an uncertain write was chosen when a later
    /// answer does not fit.
    fn extend(&mut self, states: &mut Vec<State>) -> Result<(), Violation> {
        let first = states.len();
        while let Some(last) = states.last()
            && last.revision < self.end
        {
            let at = last.revision.next();
            let Some((txn, answer)) = self.made.get(&at).copied() else {
                let found = self.choose(states, at);
                if found.is_err() {
                    states.truncate(first);
                }
                return found;
            };
            let (next, right) = last.after(txn);
            if next.revision != at || right != plain_answer(answer) {
                let what = format!("{txn:?} was answered by {answer:?}, right is {right:?}");
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

    /// Finds the uncertain write that made a revision which nobody was told of.
    fn choose(&mut self, states: &mut Vec<State>, at: Revision) -> Result<(), Violation> {
        let nobody = format!("revision {at} was made by no request");
        let mut why = Violation::new(Guarantee::OneWriteARevision, nobody);
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

    /// The uncertain writes that may have made a revision, and the states that they left.
    fn candidates(&self, last: &State, at: Revision) -> impl Iterator<Item = (usize, State)> {
        let all = self.uncertain.iter().enumerate();
        all.filter_map(move |(nth, uncertain)| {
            if uncertain.is_placed || self.floors.at(uncertain.asked_at) >= at {
                return None;
            }
            let (next, _) = last.after(uncertain.txn);
            (next.revision == at).then_some((nth, next))
        })
    }

    /// Compares what was seen at the newest state with it.
    fn check_seen(&self, states: &[State]) -> Result<(), Violation> {
        let state = states.last().expect("there is a first state");
        if self.told.is_some_and(|told| !told.fits(state)) {
            let what = format!("watches were told otherwise than {state:?}");
            return Err(Violation::new(Guarantee::Reliable, what));
        }
        let seen = self.saw.get(&state.revision).into_iter().flatten();
        for asked in seen {
            let right = match (&asked.request, &asked.outcome) {
                (Request::Txn(txn), Outcome::Txn(answer)) => {
                    let (next, right) = state.after(txn);
                    next.changes.is_empty() && right == plain_answer(answer)
                }
                (Request::Range(range, _), Outcome::Range(found)) => read_at(states, range)
                    .is_some_and(|state| state.read(range) == plain_read(found)),
                _ => true,
            };
            if !right {
                let what = format!("{asked:?} does not fit {state:?}");
                return Err(Violation::new(Guarantee::Sequential, what));
            }
        }
        Ok(())
    }
}

/// The state that a read is about.
fn read_at<'s>(states: &'s [State], range: &Range) -> Option<&'s State> {
    let Some(at) = range.at else {
        return states.last();
    };
    let first = states.first()?.revision.0;
    states.get(usize::try_from(at.0.checked_sub(first)?).ok()?)
}
