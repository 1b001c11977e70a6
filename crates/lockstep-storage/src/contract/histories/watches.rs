//! What watches were told, against what happened.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_mvcc::{Event, KeyValue, Previous, Revision};

use super::model::{State, plain};
use super::{Guarantee, History, Outcome, Request, Violation, Watched};
use crate::WatchMessage;

/// What watches were told, by revision.
pub(super) struct Told<'a> {
    history: &'a History,
    watches: Vec<ToldOne<'a>>,
}

struct ToldOne<'a> {
    watched: &'a Watched,
    /// Up to where it has to be told everything.
    progress: Revision,
    /// With the times of their messages.
    events: BTreeMap<Revision, Vec<(u64, &'a Event)>>,
}

impl<'a> Told<'a> {
    pub(super) fn of(history: &'a History) -> Self {
        let watches = history.watches.iter().map(|watched| {
            let mut events: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for (at, event) in watched.events() {
                let revision = event.kv.mod_revision;
                events.entry(revision).or_default().push((at, event));
            }
            ToldOne {
                watched,
                progress: watched.progress(),
                events,
            }
        });
        Self {
            history,
            watches: watches.collect(),
        }
    }

    /// Whether every watch that had to be told about a state was told right.
    pub(super) fn fits(&self, state: &State) -> bool {
        self.watches.iter().all(|one| {
            let has_to = (one.watched.from..=one.progress).contains(&state.revision);
            !has_to || one.fits(self.history, state)
        })
    }
}

impl ToldOne<'_> {
    fn fits(&self, history: &History, state: &State) -> bool {
        let told = self.events.get(&state.revision);
        let told = told.map_or(&[][..], Vec::as_slice);
        let wanted = |(kv, _): &&(KeyValue, _)| self.watched.selector.matches(kv);
        let happened: Vec<_> = state.changes.iter().filter(wanted).collect();
        let mut pairs = told.iter().zip(&happened);
        told.len() == happened.len()
            && pairs.all(|((at, event), (kv, before))| {
                let before = before.as_ref();
                plain(&event.kv) == *kv
                    && is_right_previous(history, self.watched, *at, event, before)
            })
    }
}

impl Watched {
    /// All events, with the times of their messages.
    fn events(&self) -> impl Iterator<Item = (u64, &Event)> {
        let messages = self.messages.iter();
        messages.flat_map(|(at, message)| {
            let events = match message {
                WatchMessage::Events { events, .. } => &events[..],
                WatchMessage::Progress { .. } => &[],
            };
            events.iter().map(move |event| (*at, event))
        })
    }
}

/// Every guarantee that a watch broke; for each watch the first of each kind.
pub(super) fn check(history: &History, states: &[State]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for watched in &history.watches {
        let mut found = Vec::new();
        check_messages(watched, &mut found);
        check_events(history, states, watched, &mut found);
        let mut told = BTreeSet::new();
        found.retain(|violation: &Violation| told.insert(violation.guarantee));
        violations.extend(found);
    }
    violations
}

/// What can be seen from the messages alone.
fn check_messages(watched: &Watched, violations: &mut Vec<Violation>) {
    let mut progress = watched.from.previous();
    let mut last = Revision::NONE;
    let mut seen = BTreeSet::new();
    let mut broken = |guarantee, what: String| violations.push(Violation::new(guarantee, what));
    for (_, message) in &watched.messages {
        let (events, told) = match message {
            WatchMessage::Events { events, progress } => (&events[..], *progress),
            WatchMessage::Progress { progress } => (&[][..], *progress),
        };
        let first = events.first().map(|event| event.kv.mod_revision);
        if first == Some(last) {
            let what = format!("revision {last} is spread over two messages");
            broken(Guarantee::Atomic, what);
        }
        for Event { kv, .. } in events {
            let at = kv.mod_revision;
            if at < last {
                broken(Guarantee::Ordered, format!("{at} came after {last}"));
            }
            if at <= progress {
                let what = format!("{at} came after progress {progress}");
                broken(Guarantee::Bookmarkable, what);
            }
            if !seen.insert((at, kv.key.clone())) {
                broken(Guarantee::Unique, format!("{kv:?} came twice"));
            }
            if !watched.selector.matches(kv) || at < watched.from {
                broken(Guarantee::Filter, format!("{kv:?} was not asked for"));
            }
            last = last.max(at);
        }
        if told < progress.max(last) {
            let what = format!("progress {told} came after {}", progress.max(last));
            broken(Guarantee::Bookmarkable, what);
        }
        progress = progress.max(told);
    }
}

/// What can be seen by comparing with what happened.
fn check_events(
    history: &History,
    states: &[State],
    watched: &Watched,
    violations: &mut Vec<Violation>,
) {
    let progress = watched.progress();
    let happened = states
        .iter()
        .filter(|state| (watched.from..=progress).contains(&state.revision))
        .flat_map(|state| &state.changes)
        .filter(|(kv, _)| watched.selector.matches(kv));
    let mut missing: Vec<&(KeyValue, Option<KeyValue>)> = happened.collect();
    let mut broken = |guarantee, what: String| violations.push(Violation::new(guarantee, what));
    for (at, event) in watched.events() {
        let id = |kv: &KeyValue| (kv.mod_revision, kv.key.clone());
        let place = missing.iter().position(|(kv, _)| id(kv) == id(&event.kv));
        let Some(place) = place else {
            let has_state = states.iter().any(|state| {
                let mut changes = state.changes.iter();
                changes.any(|(kv, _)| id(kv) == id(&event.kv))
            });
            if !has_state {
                broken(Guarantee::Reliable, format!("{event:?} never happened"));
            }
            continue;
        };
        if place > 0 && missing[0].0.mod_revision == event.kv.mod_revision {
            let what = format!("{event:?} came before {:?}", missing[0].0);
            broken(Guarantee::Ordered, what);
        }
        let (kv, before) = missing.remove(place);
        if event.kv.is_create() != kv.is_create() {
            broken(
                Guarantee::IsCreate,
                format!("{event:?} is wrong, right is {kv:?}"),
            );
        } else if plain(&event.kv) != *kv {
            broken(
                Guarantee::Reliable,
                format!("{event:?} is wrong, right is {kv:?}"),
            );
        }
        if !is_right_previous(history, watched, at, event, before.as_ref()) {
            let what = format!("{event:?} is wrong, before it was {before:?}");
            broken(Guarantee::PrevKv, what);
        }
    }
    if let Some((kv, _)) = missing.first() {
        let what = format!("{kv:?} did not come before progress {progress}");
        broken(Guarantee::Reliable, what);
    }
}

/// The version before, unless nobody asked for it or a compaction took it.
fn is_right_previous(
    history: &History,
    watched: &Watched,
    at: u64,
    event: &Event,
    before: Option<&KeyValue>,
) -> bool {
    let told = event.previous.as_deref().map(plain);
    if watched.selector.previous == Previous::Omit {
        return told.is_none();
    }
    if told.as_ref() == before {
        return true;
    }
    let compactions = history.requests.iter().filter_map(|asked| {
        let was_asked = asked.at < at && !matches!(asked.outcome, Outcome::Refused);
        match asked.request {
            Request::Compact(revision) if was_asked => Some(revision),
            _ => None,
        }
    });
    told.is_none() && compactions.max() >= Some(event.kv.mod_revision)
}
