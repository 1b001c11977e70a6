//! Watches beyond the contract: interrupted, slow, and larger than a message.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use lockstep_storage::{
    DeleteRange, Event, KeyRange, Limits, Op, Previous, Revision, Store, Txn, Watch, WatchError,
    WatchMessage, WatchRequest, WatchSelector,
};
use lockstep_storage_etcd::{EtcdStore, Options};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::etcd::{Member, Release};
use crate::load::put;
use crate::proxy::Proxy;

const TIMEOUT: Duration = Duration::from_secs(30);
const MIB: usize = 1 << 20;

fn check(body: &impl AsyncFn(&Member)) {
    for release in [Release::Packaged, Release::Newer] {
        if let Some(program) = release.program() {
            let member = Member::start(&program);
            Runtime::new().unwrap().block_on(body(&member));
        }
    }
}

async fn watch(store: &EtcdStore, previous: Previous, from: Option<Revision>) -> Watch {
    let selector = WatchSelector {
        previous,
        ..WatchSelector::new(KeyRange::prefix("k"))
    };
    store.watch(WatchRequest { selector, from }).await.unwrap()
}

async fn next(watch: &mut Watch) -> Result<WatchMessage, WatchError> {
    let message = timeout(TIMEOUT, watch.next()).await;
    message.expect("there is a message")
}

/// The next message's events.
async fn events(watch: &mut Watch) -> Vec<Event> {
    loop {
        match next(watch).await.unwrap() {
            WatchMessage::Events { events, .. } => return events,
            WatchMessage::Progress { .. } => {}
        }
    }
}

#[test]
fn what_was_compacted_while_the_wire_was_cut_is_told() {
    check(&async |member| {
        let proxy = Proxy::to(member.url()).await;
        let store = EtcdStore::connect(Options::new([proxy.url()]))
            .await
            .unwrap();
        let other = member.connect().await;
        let mut interested = watch(&store, Previous::Omit, None).await;
        let first = other.txn(put("k", "1")).await.unwrap().revision;
        assert_eq!(events(&mut interested).await[0].kv.mod_revision, first);
        proxy.cut();
        other.txn(put("k", "2")).await.unwrap();
        let compacted = other.txn(put("k", "3")).await.unwrap().revision;
        other.compact(compacted).await.unwrap();
        proxy.mend();
        let over = Err(WatchError::Compacted { compacted });
        assert_eq!(next(&mut interested).await, over);
        assert_eq!(next(&mut interested).await, over);
    });
}

#[test]
fn a_watch_whose_progress_was_told_survives_a_compaction_while_the_wire_is_cut() {
    check(&async |member| {
        let proxy = Proxy::to(member.url()).await;
        let store = EtcdStore::connect(Options::new([proxy.url()]))
            .await
            .unwrap();
        let other = member.connect().await;
        let mut quiet = watch(&store, Previous::Omit, None).await;
        let mut last = Revision::NONE;
        for _ in 0..10 {
            last = other.txn(put("other", "v")).await.unwrap().revision;
        }
        quiet.request_progress();
        let progress = next(&mut quiet).await;
        assert_eq!(progress, Ok(WatchMessage::Progress { progress: last }));
        proxy.cut();
        other.compact(last).await.unwrap();
        proxy.mend();
        let written = other.txn(put("k", "v")).await.unwrap().revision;
        assert_eq!(events(&mut quiet).await[0].kv.mod_revision, written);
    });
}

/// More than a stream's window, and more than etcd queues for a watcher.
#[test]
fn an_unread_watch_holds_up_neither_writers_nor_other_watches() {
    const WRITES: usize = 64;
    check(&async |member| {
        let store = member.connect().await;
        let mut idle = watch(&store, Previous::Omit, None).await;
        let is_silent = poll_fn(|cx| Poll::Ready(idle.poll_next(cx).is_pending()));
        assert!(is_silent.await);
        let mut busy = watch(&store, Previous::Omit, None).await;
        for nth in 0..WRITES {
            let value = vec![u8::try_from(nth).unwrap(); MIB / 2];
            store.txn(put("k", value)).await.unwrap();
            assert_eq!(usize::from(events(&mut busy).await[0].kv.value[0]), nth);
        }
        let mut seen = Vec::new();
        while seen.len() < WRITES {
            let events = events(&mut idle).await;
            seen.extend(events.iter().map(|event| usize::from(event.kv.value[0])));
        }
        assert_eq!(seen, (0..WRITES).collect::<Vec<_>>());
    });
}

/// etcd cuts responses at some 2 MiB; here one revision alone has more.
#[test]
fn a_revision_in_fragments_is_delivered_whole() {
    const KEYS: usize = 5;
    check(&async |member| {
        let store = member.connect().await;
        let mut first = None;
        for nth in 0..KEYS {
            let written = store.txn(put(&format!("k{nth}"), vec![b'v'; MIB])).await;
            first.get_or_insert(written.unwrap().revision);
        }
        let mut watch = watch(&store, Previous::Return, first).await;
        let all = DeleteRange::new(KeyRange::prefix("k"));
        let txn = Txn {
            success: vec![Op::DeleteRange(all)],
            ..Txn::default()
        };
        let txn = txn.check(Limits::default().txn_ops_max).unwrap();
        let all_gone = store.txn(txn).await.unwrap().revision;
        let mut put_count = 0;
        let deletes = loop {
            let events = events(&mut watch).await;
            let (puts, deletes): (Vec<_>, Vec<_>) = events
                .into_iter()
                .partition(|event| event.kv.mod_revision < all_gone);
            put_count += puts.len();
            if !deletes.is_empty() {
                break deletes;
            }
        };
        assert_eq!(put_count, KEYS);
        let before = |event: &Event| event.previous.as_ref().map(|kv| kv.value.len());
        let before: Vec<_> = deletes.iter().map(before).collect();
        assert_eq!(before, [Some(MIB); KEYS]);
    });
}

/// etcd needs a moment until a watch has caught up with history; old releases tell the present as
/// its progress meanwhile.
#[test]
fn progress_does_not_overtake_history() {
    const WRITES: usize = 100;
    check(&async |member| {
        let store = member.connect().await;
        let mut written = Vec::new();
        for nth in 0..WRITES {
            let answer = store.txn(put("k", nth.to_string())).await;
            written.push(answer.unwrap().revision);
        }
        let mut watch = watch(&store, Previous::Omit, Some(written[0])).await;
        watch.request_progress();
        let mut delivered = Vec::new();
        let progress = loop {
            match next(&mut watch).await.unwrap() {
                WatchMessage::Events { events, .. } => {
                    delivered.extend(events.iter().map(|event| event.kv.mod_revision));
                }
                WatchMessage::Progress { progress } => break progress,
            }
        };
        assert_eq!(delivered, written);
        assert_eq!(Some(&progress), written.last());
    });
}
