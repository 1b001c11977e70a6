//! Checks of watches against the states of the model.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_mvcc::{Event, KeyValue, Previous, Revision};

use super::model::{State, plain};
use super::{Guarantee, History, Outcome, RecordedWatch, Request, Violation};
use crate::WatchMessage;

/// Delivered events of all watches, by revision.
pub(super) struct Deliveries<'a> {
    history: &'a History,
    watches: Vec<WatchDeliveries<'a>>,
}

struct WatchDeliveries<'a> {
    watched: &'a RecordedWatch,
    /// The watch must have delivered every event up to this revision.
    progress: Revision,
    /// Events with the logical times of their messages.
    events: BTreeMap<Revision, Vec<(u64, &'a Event)>>,
}

impl<'a> Deliveries<'a> {
    pub(super) fn of(history: &'a History) -> Self {
        let watches = history.watches.iter().map(|watched| {
            let mut events: BTreeMap<_, Vec<_>> = BTreeMap::new();
            for (at, event) in watched.events() {
                let revision = event.kv.mod_revision;
                events.entry(revision).or_default().push((at, event));
            }
            WatchDeliveries {
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

    /// True if every watch that covers the state's revision delivered exactly its changes.
    pub(super) fn fits(&self, state: &State) -> bool {
        self.watches.iter().all(|one| {
            let has_to = (one.watched.from..=one.progress).contains(&state.revision);
            !has_to || one.fits(self.history, state)
        })
    }
}

impl WatchDeliveries<'_> {
    fn fits(&self, history: &History, state: &State) -> bool {
        let delivered = self.events.get(&state.revision);
        let delivered = delivered.map_or(&[][..], Vec::as_slice);
        let wanted = |(kv, _): &&(KeyValue, _)| self.watched.selector.matches(kv);
        let happened: Vec<_> = state.changes.iter().filter(wanted).collect();
        let mut pairs = delivered.iter().zip(&happened);
        delivered.len() == happened.len()
            && pairs.all(|((at, event), (kv, before))| {
                let before = before.as_ref();
                plain(&event.kv) == *kv
                    && is_right_previous(history, self.watched, *at, event, before)
            })
    }
}

impl RecordedWatch {
    /// All events, with the logical times of their messages.
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

/// Broken guarantees of watches; for each watch the first violation of each guarantee.
pub(super) fn check(history: &History, states: &[State]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for watched in &history.watches {
        let mut found = Vec::new();
        check_messages(watched, &mut found);
        check_events(history, states, watched, &mut found);
        let mut reported = BTreeSet::new();
        found.retain(|violation: &Violation| reported.insert(violation.guarantee));
        violations.extend(found);
    }
    violations
}

/// Checks that need only the watch's own messages.
fn check_messages(watched: &RecordedWatch, violations: &mut Vec<Violation>) {
    let mut progress = watched.from.previous();
    let mut last = Revision::NONE;
    let mut seen = BTreeSet::new();
    let mut broken = |guarantee, what: String| violations.push(Violation::new(guarantee, what));
    for (_, message) in &watched.messages {
        let (events, reported) = match message {
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
                broken(
                    Guarantee::Filter,
                    format!("{kv:?} does not match the watch"),
                );
            }
            last = last.max(at);
        }
        if reported < progress.max(last) {
            let what = format!("progress {reported} came after {}", progress.max(last));
            broken(Guarantee::Bookmarkable, what);
        }
        progress = progress.max(reported);
    }
}

/// Checks events against the changes of the model.
fn check_events(
    history: &History,
    states: &[State],
    watched: &RecordedWatch,
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

/// True if the previous key-value is right, or absent because it was not requested or is compacted.
fn is_right_previous(
    history: &History,
    watched: &RecordedWatch,
    at: u64,
    event: &Event,
    before: Option<&KeyValue>,
) -> bool {
    let delivered = event.previous.as_deref().map(plain);
    if watched.selector.previous == Previous::Omit {
        return delivered.is_none();
    }
    if delivered.as_ref() == before {
        return true;
    }
    let compactions = history.requests.iter().filter_map(|recorded| {
        let was_sent = recorded.at < at && !matches!(recorded.outcome, Outcome::Refused);
        match recorded.request {
            Request::Compact(revision) if was_sent => Some(revision),
            _ => None,
        }
    });
    delivered.is_none() && compactions.max() >= Some(event.kv.mod_revision)
}
