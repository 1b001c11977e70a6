//! Position of a watch: filters repeated events and computes progress.

use lockstep_storage::{Event, Revision, WatchMessage};

/// Position of a reader in the history, across streams.
#[derive(Debug)]
pub(super) struct Position {
    /// Start revision of the watch.
    first: Revision,
    /// The first undelivered revision.
    next: Revision,
    /// The newest reported progress, including events.
    reported: Revision,
    /// Events of a revision that may be incomplete.
    held: Vec<Event>,
}

impl Position {
    pub(super) fn new(first: Revision) -> Self {
        Self {
            first,
            next: first,
            reported: Revision::NONE,
            held: Vec::new(),
        }
    }

    /// Start revision of the next stream.
    pub(super) fn next(&self) -> Revision {
        self.next
    }

    /// Adds events in order. `is_cut` means that the last revision continues in the next response: it is held until
    /// complete.
    pub(super) fn events(&mut self, events: Vec<Event>, is_cut: bool) -> Option<WatchMessage> {
        let next = self.next;
        let news = events.into_iter();
        self.held
            .extend(news.filter(|event| event.kv.mod_revision >= next));
        let newest = self.held.last()?.kv.mod_revision;
        let incomplete = if is_cut {
            let is_before = |event: &Event| event.kv.mod_revision < newest;
            self.held.split_off(self.held.partition_point(is_before))
        } else {
            Vec::new()
        };
        let events = std::mem::replace(&mut self.held, incomplete);
        let progress = events.last()?.kv.mod_revision;
        self.next = progress.next();
        self.reported = progress;
        Some(WatchMessage::Events { events, progress })
    }

    /// Adds delivered progress; returns the message that may be sent.
    pub(super) fn progress(&mut self, progress: Revision) -> Option<WatchMessage> {
        let has_begun = progress.next() >= self.first;
        if !has_begun || progress < self.reported {
            return None;
        }
        self.next = self.next.max(progress.next());
        self.reported = progress;
        Some(WatchMessage::Progress { progress })
    }

    /// Handles the end of a stream: held events are delivered again by the next one.
    pub(super) fn restart(&mut self) {
        self.held.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use lockstep_storage::KeyValue;

    use super::*;

    /// One event for each revision.
    fn events(revisions: &[u64]) -> Vec<Event> {
        let event = |revision: &u64| Event {
            kv: Arc::new(KeyValue {
                mod_revision: Revision(*revision),
                version: 1,
                ..KeyValue::default()
            }),
            previous: None,
        };
        revisions.iter().map(event).collect()
    }

    fn delivered(revisions: &[u64]) -> WatchMessage {
        let progress = Revision(*revisions.last().expect("not empty"));
        let events = events(revisions);
        WatchMessage::Events { events, progress }
    }

    fn progress(revision: u64) -> WatchMessage {
        let progress = Revision(revision);
        WatchMessage::Progress { progress }
    }

    #[test]
    fn a_repeat_is_not_delivered() {
        let mut position = Position::new(Revision(5));
        assert_eq!(position.events(events(&[3, 4]), false), None);
        let first = position.events(events(&[4, 5, 5, 7]), false);
        assert_eq!(first, Some(delivered(&[5, 5, 7])));
        assert_eq!(position.next(), Revision(8));
        assert_eq!(
            position.events(events(&[7, 8]), false),
            Some(delivered(&[8]))
        );
    }

    #[test]
    fn fragments_of_one_revision_are_joined_and_the_rest_goes_ahead() {
        let mut position = Position::new(Revision(1));
        assert_eq!(
            position.events(events(&[1, 2, 3]), true),
            Some(delivered(&[1, 2]))
        );
        assert_eq!(position.events(events(&[3, 3]), true), None);
        assert_eq!(
            position.events(events(&[3, 4]), false),
            Some(delivered(&[3, 3, 3, 3, 4]))
        );
        assert_eq!(position.next(), Revision(5));
    }

    #[test]
    fn half_a_revision_is_forgotten_when_the_stream_breaks() {
        let mut position = Position::new(Revision(1));
        assert_eq!(
            position.events(events(&[1, 2]), true),
            Some(delivered(&[1]))
        );
        position.restart();
        assert_eq!(position.next(), Revision(2));
        assert_eq!(
            position.events(events(&[2, 2]), false),
            Some(delivered(&[2, 2]))
        );
    }

    #[test]
    fn progress_never_goes_back_and_never_comes_before_the_beginning() {
        let mut position = Position::new(Revision(5));
        assert_eq!(position.progress(Revision(3)), None);
        assert_eq!(position.progress(Revision(4)), Some(progress(4)));
        assert_eq!(position.progress(Revision(9)), Some(progress(9)));
        assert_eq!(position.progress(Revision(8)), None);
        assert_eq!(position.progress(Revision(9)), Some(progress(9)));
        assert_eq!(position.next(), Revision(10));
        assert_eq!(
            position.events(events(&[9, 11]), false),
            Some(delivered(&[11]))
        );
    }
}
