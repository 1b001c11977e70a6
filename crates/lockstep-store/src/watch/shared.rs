//! Cache of encoded events, shared by watchers.
//!
//! Watchers of the same keys receive the same events at about the same time. The first one encodes them; the others
//! find the encoding by the identity of the versions.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::Event;
use parking_lot::Mutex;

use super::codec::{encode_events, events_len};

/// Cached encodings, for watchers with different filters.
const CACHED_MAX: usize = 8;
/// Size limit of a cached encoding: a watcher that is far behind rarely shares its batch with others.
const CACHED_BYTES_MAX: usize = 64 << 10;

/// Recently encoded events.
#[derive(Default)]
pub(crate) struct SharedEvents(Mutex<VecDeque<CachedEvents>>);

struct CachedEvents {
    /// Keeps the versions alive, so that their addresses are not reused.
    events: Vec<Event>,
    bytes: Bytes,
}

/// Events of a message, possibly encoded.
pub(crate) enum Content {
    Encoded(Bytes),
    Listed(Vec<Event>),
}

impl SharedEvents {
    /// Returns the encoded events, unless they exceed the size limit.
    pub(super) fn share(&self, events: Vec<Event>) -> Content {
        if events_len(&events) > CACHED_BYTES_MAX {
            return Content::Listed(events);
        }
        let mut kept = self.0.lock();
        if let Some(found) = kept.iter().find(|kept| are_same(&kept.events, &events)) {
            return Content::Encoded(found.bytes.clone());
        }
        let mut bytes = Vec::with_capacity(events_len(&events));
        encode_events(&events, &mut bytes);
        let bytes = Bytes::from(bytes);
        let outdated = (kept.len() == CACHED_MAX).then(|| kept.pop_back());
        kept.push_front(CachedEvents {
            events,
            bytes: bytes.clone(),
        });
        drop(kept);
        // Dropped outside the lock, because it may free versions.
        drop(outdated);
        Content::Encoded(bytes)
    }
}

/// True if both lists refer to identical versions in memory.
fn are_same(one: &[Event], other: &[Event]) -> bool {
    let pairs = |event: &Event| {
        let previous = event.previous.as_ref().map(Arc::as_ptr);
        (Arc::as_ptr(&event.kv), previous)
    };
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| pairs(one) == pairs(other))
}

#[cfg(test)]
mod tests {
    use lockstep_mvcc::KeyValue;

    use super::*;

    fn pair(value: usize) -> Arc<KeyValue> {
        Arc::new(KeyValue {
            key: "key".into(),
            value: vec![b'v'; value].into(),
            version: 1,
            ..KeyValue::default()
        })
    }

    fn event(kv: &Arc<KeyValue>, previous: Option<&Arc<KeyValue>>) -> Event {
        Event {
            kv: kv.clone(),
            previous: previous.cloned(),
        }
    }

    fn encoded(shared: &SharedEvents, events: &[Event]) -> Bytes {
        match shared.share(events.to_vec()) {
            Content::Encoded(bytes) => bytes,
            Content::Listed(events) => panic!("{events:?}"),
        }
    }

    #[test]
    fn the_same_events_are_encoded_once_and_others_are_not_taken_for_them() {
        let shared = SharedEvents::default();
        let (one, other) = (pair(3), pair(3));
        let lists = [
            vec![event(&one, None)],
            vec![event(&one, Some(&other))],
            vec![event(&one, Some(&one))],
            vec![event(&other, None)],
            vec![event(&one, None), event(&other, None)],
        ];
        let first: Vec<_> = lists.iter().map(|list| encoded(&shared, list)).collect();
        for (list, first) in lists.iter().zip(&first) {
            let mut expected = Vec::new();
            encode_events(list, &mut expected);
            assert_eq!(*first, expected);
            // The encoding is shared, not copied.
            assert_eq!(encoded(&shared, list).as_ptr(), first.as_ptr());
        }
    }

    #[test]
    fn few_encodings_are_kept_and_long_ones_are_not() {
        let shared = SharedEvents::default();
        for _ in 0..3 * CACHED_MAX {
            encoded(&shared, &[event(&pair(3), None)]);
        }
        assert_eq!(shared.0.lock().len(), CACHED_MAX);
        let long = shared.share(vec![event(&pair(CACHED_BYTES_MAX), None)]);
        assert!(matches!(long, Content::Listed(events) if events.len() == 1));
        assert_eq!(shared.0.lock().len(), CACHED_MAX);
    }
}
