//! Watches.

use std::future::poll_fn;
use std::task::Poll;

use lockstep_mvcc::{Event, Filters, Previous, Revision, WatchSelector};
use tokio::task::JoinSet;

use super::Subject;
use super::subject::within_timeout;
use crate::{Watch, WatchError, WatchMessage};

pub(super) async fn events_come_in_order_once_and_whole(subject: Subject) {
    const WRITERS: usize = 8;
    const WRITES_EACH: usize = 50;
    let mut watch = subject.watch_all(None).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let subject = subject.clone();
        writers.spawn(async move {
            for nth in 0..WRITES_EACH {
                let value = nth.to_string();
                let names = [format!("a{writer}"), format!("b{writer}")];
                let ops = names.iter().map(|name| subject.put_op(name, &value));
                subject.run(ops.collect()).await;
                tokio::task::yield_now().await;
            }
        });
    }
    let expected = 2 * WRITERS * WRITES_EACH;
    let (mut seen, mut last): (Vec<Event>, _) = (Vec::new(), Revision::NONE);
    while seen.len() < expected {
        let message = within_timeout(watch.next())
            .await
            .expect("the watch goes on");
        let WatchMessage::Events { events, progress } = message else {
            continue;
        };
        let first = events
            .first()
            .expect("a message holds events")
            .kv
            .mod_revision;
        assert!(first > last, "no revision is spread over two messages");
        last = events
            .last()
            .expect("a message holds events")
            .kv
            .mod_revision;
        assert!(progress >= last);
        seen.extend(events);
    }
    writers.join_all().await;
    let revisions: Vec<_> = seen.iter().map(|event| event.kv.mod_revision).collect();
    assert!(revisions.is_sorted());
    for pair in seen.chunks(2) {
        let names: Vec<_> = pair
            .iter()
            .map(|event| subject.name(&event.kv.key))
            .collect();
        assert_eq!(pair[0].kv.mod_revision, pair[1].kv.mod_revision);
        assert_eq!(
            names[0].replace('a', "b"),
            names[1],
            "in the order of the operations"
        );
    }
}

pub(super) async fn a_watch_without_a_start_sees_what_comes_next(subject: Subject) {
    subject.put("before", "v").await;
    let mut watch = subject.watch_all(None).await;
    let next = subject.put("after", "v").await;
    assert!(watch.started_at() < next);
    let events = subject.events(&mut watch, 1).await;
    assert_eq!(subject.shown(&events), ["+after=v"]);
}

pub(super) async fn a_watch_from_the_past_has_no_gap_to_the_present(subject: Subject) {
    let first = subject.put("k", "0").await;
    for nth in 1..1500 {
        subject.put("k", &nth.to_string()).await;
    }
    let mut watch = subject.watch_all(Some(first)).await;
    for nth in 1500..1600 {
        subject.put("k", &nth.to_string()).await;
    }
    let events = subject.events(&mut watch, 1600).await;
    let expected: Vec<_> = (0..1600).map(|nth| format!("+k={nth}")).collect();
    assert_eq!(subject.shown(&events), expected);
}

pub(super) async fn a_watch_from_the_future_is_silent_until_then(subject: Subject) {
    let current = subject.put("k", "0").await;
    let mut watch = subject.watch_all(Some(Revision(current.0 + 3))).await;
    watch.request_progress();
    let is_silent = poll_fn(|cx| Poll::Ready(watch.poll_next(cx).is_pending()));
    assert!(is_silent.await, "no progress before the watch has begun");
    let mut last = current;
    for nth in 1..=4 {
        last = subject.put("k", &nth.to_string()).await;
    }
    let mut events = Vec::new();
    while events.last() != Some(&"+k=4".to_owned()) {
        match within_timeout(watch.next())
            .await
            .expect("the watch goes on")
        {
            WatchMessage::Events { events: some, .. } => {
                assert!(some[0].kv.mod_revision.0 >= current.0 + 3);
                events.extend(subject.shown(&some));
            }
            WatchMessage::Progress { progress } => assert!(progress.0 >= current.0 + 2),
        }
    }
    assert_eq!(
        last,
        Revision(current.0 + 4),
        "no other client writes during this rule"
    );
    assert_eq!(events, ["+k=3", "+k=4"]);
}

async fn filtered(subject: &Subject, from: Revision, filters: Filters) -> Watch {
    let selector = WatchSelector {
        filters,
        ..WatchSelector::new(subject.all())
    };
    subject.watch(selector, Some(from)).await
}

pub(super) async fn filters_drop_events_and_progress_goes_on(subject: Subject) {
    let first = subject.put("a", "1").await;
    subject.delete("a").await;
    subject.put("a", "2").await;
    let last = subject.put("b", "1").await;
    let (no_put, no_delete) = (true, true);
    let off = Filters::default();
    let mut puts = filtered(&subject, first, Filters { no_delete, ..off }).await;
    let events = subject.events(&mut puts, 3).await;
    assert_eq!(subject.shown(&events), ["+a=1", "+a=2", "+b=1"]);
    let mut deletes = filtered(&subject, first, Filters { no_put, ..off }).await;
    let events = subject.events(&mut deletes, 1).await;
    assert_eq!(subject.shown(&events), ["-a"]);
    let mut nothing = filtered(&subject, first, Filters { no_put, no_delete }).await;
    nothing.request_progress();
    let message = within_timeout(nothing.next()).await;
    assert!(matches!(message, Ok(WatchMessage::Progress { progress }) if progress >= last));
}

pub(super) async fn the_previous_pair_comes_if_asked_for(subject: Subject) {
    let first = subject.put("k", "1").await;
    subject.put("k", "2").await;
    subject.delete("k").await;
    let previous = |event: &Event| event.previous.as_ref().map(|kv| subject.pair(kv));
    let mut without = subject.watch_all(Some(first)).await;
    let events = subject.events(&mut without, 3).await;
    assert_eq!(
        events.iter().map(previous).collect::<Vec<_>>(),
        [None, None, None]
    );
    let selector = WatchSelector {
        previous: Previous::Return,
        ..WatchSelector::new(subject.all())
    };
    let mut with = subject.watch(selector, Some(first)).await;
    let events = subject.events(&mut with, 3).await;
    let expected = [None, Some("k=1".to_owned()), Some("k=2".to_owned())];
    assert_eq!(events.iter().map(previous).collect::<Vec<_>>(), expected);
}

pub(super) async fn progress_means_that_everything_before_was_delivered(subject: Subject) {
    let mut watch = subject.watch_all(None).await;
    for nth in 0..20 {
        let written = subject.put("k", &nth.to_string()).await;
        watch.request_progress();
        let mut delivered = Revision::NONE;
        loop {
            match within_timeout(watch.next())
                .await
                .expect("the watch goes on")
            {
                WatchMessage::Events { events, .. } => {
                    delivered = events.last().expect("not empty").kv.mod_revision;
                }
                WatchMessage::Progress { progress } => {
                    assert_eq!(delivered, written, "the event comes first");
                    assert!(progress >= written);
                    break;
                }
            }
        }
    }
    // Progress is reported also when no new events arrive.
    let current = subject.put("k", "last").await;
    subject.events(&mut watch, 1).await;
    watch.request_progress();
    let message = within_timeout(watch.next()).await;
    assert!(matches!(message, Ok(WatchMessage::Progress { progress }) if progress >= current));
}

pub(super) async fn a_watch_before_the_compaction_is_refused(subject: Subject) {
    let first = subject.put("k", "1").await;
    let compacted = subject.put("k", "2").await;
    subject.compact(compacted).await;
    let mut watch = subject.watch_all(Some(first)).await;
    let refused = Err(WatchError::Compacted { compacted });
    assert_eq!(within_timeout(watch.next()).await, refused);
    assert_eq!(within_timeout(watch.next()).await, refused, "and stays so");
}

pub(super) async fn a_watch_at_the_compaction_delivers_its_deletes(subject: Subject) {
    subject.put("k", "1").await;
    let deleted = subject.delete("k").await;
    subject.compact(deleted).await;
    let mut watch = subject.watch_all(Some(deleted)).await;
    subject.put("k", "2").await;
    let events = subject.events(&mut watch, 2).await;
    assert_eq!(subject.shown(&events), ["-k", "+k=2"]);
}

pub(super) async fn a_watch_without_news_survives_compactions(subject: Subject) {
    let quiet = WatchSelector::new(subject.single("quiet"));
    let mut watch = subject.watch(quiet, None).await;
    for nth in 0..10 {
        let revision = subject.put("loud", &nth.to_string()).await;
        subject.compact(revision).await;
    }
    subject.put("quiet", "v").await;
    let events = subject.events(&mut watch, 1).await;
    assert_eq!(subject.shown(&events), ["+quiet=v"]);
}

pub(super) async fn a_reader_that_never_reads_does_not_stop_writers(subject: Subject) {
    let mut idle = subject.watch_all(None).await;
    let mut last = Revision::NONE;
    for nth in 0..3000 {
        last = within_timeout(subject.put("k", &nth.to_string())).await;
    }
    subject.compact(last).await;
    // A slow reader gets the remaining events in order or a compaction error, never a silent gap.
    let mut next = 0;
    loop {
        match within_timeout(idle.next()).await {
            Ok(WatchMessage::Events { events, .. }) => {
                let shown = subject.shown(&events);
                let expected: Vec<_> = (next..next + shown.len())
                    .map(|nth| format!("+k={nth}"))
                    .collect();
                assert_eq!(shown, expected);
                next += shown.len();
                if next == 3000 {
                    return;
                }
            }
            Ok(WatchMessage::Progress { .. }) => {}
            Err(error) => {
                assert_eq!(error, WatchError::Compacted { compacted: last });
                return;
            }
        }
    }
}
