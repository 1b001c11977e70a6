//! What watches were told, against what happened.

use std::collections::BTreeSet;

use lockstep_mvcc::{Event, KeyValue, Previous, Revision};

use super::model::{State, plain};
use super::{Guarantee, History, Outcome, Request, Violation, Watched};
use crate::WatchMessage;

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
    let delivered = watched
        .messages
        .iter()
        .flat_map(|(at, message)| match message {
            WatchMessage::Events { events, .. } => {
                events.iter().map(|event| (*at, event)).collect()
            }
            WatchMessage::Progress { .. } => Vec::new(),
        });
    let told = watched.messages.iter().map(|(_, message)| match message {
        WatchMessage::Events { progress, .. } | WatchMessage::Progress { progress } => *progress,
    });
    let progress = told.max().unwrap_or(watched.from.previous());
    let happened = states
        .iter()
        .filter(|state| (watched.from..=progress).contains(&state.revision))
        .flat_map(|state| &state.changes)
        .filter(|(kv, _)| watched.selector.matches(kv));
    let mut missing: Vec<&(KeyValue, Option<KeyValue>)> = happened.collect();
    let mut broken = |guarantee, what: String| violations.push(Violation::new(guarantee, what));
    for (at, event) in delivered {
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
