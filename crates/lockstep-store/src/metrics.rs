//! What is counted, under the names that dashboards know.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use lockstep_mvcc::{Content, KeyRange, Range};

use crate::config::ETCD_VERSION;
use crate::member::Member;

/// A number that only grows.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How many of something there are, and were.
#[derive(Default)]
pub(crate) struct Population {
    come: AtomicU64,
    gone: AtomicU64,
}

impl Population {
    pub(crate) fn increase(&self) {
        self.come.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn decrease(&self) {
        self.subtract(1);
    }

    pub(crate) fn subtract(&self, count: u64) {
        self.gone.fetch_add(count, Ordering::Relaxed);
    }

    /// How many there ever were.
    pub(crate) fn total(&self) -> u64 {
        self.come.load(Ordering::Relaxed)
    }

    fn present(&self) -> u64 {
        let gone = self.gone.load(Ordering::Relaxed);
        self.total().saturating_sub(gone)
    }
}

/// What requests count as they go.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) watch_streams: Population,
    pub(crate) watchers: Population,
    pub(crate) events: Counter,
    pub(crate) compactions: Counter,
    pub(crate) defragmentations: Counter,
}

/// A row of the text.
struct Row {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: u64,
}

/// Everything as text, format 0.0.4.
pub(crate) fn text(member: &Member) -> String {
    let mut text = String::new();
    for row in rows(member) {
        let Row {
            name,
            kind,
            help,
            value,
        } = row;
        let lines = write!(
            text,
            "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n"
        );
        lines.expect("writing to a string succeeds");
    }
    let id = member.identity.member_id;
    let minor = ETCD_VERSION
        .rsplit_once('.')
        .map_or(ETCD_VERSION, |(minor, _)| minor);
    for (name, help, label, value) in [
        (
            "etcd_server_id",
            "The id of this member, in hexadecimal.",
            "server_id",
            format!("{id:x}"),
        ),
        (
            "etcd_server_version",
            "The API level that is served.",
            "server_version",
            ETCD_VERSION.to_owned(),
        ),
        (
            "etcd_cluster_version",
            "The API level that all members serve.",
            "cluster_version",
            minor.to_owned(),
        ),
    ] {
        let lines = write!(
            text,
            "# HELP {name} {help}\n# TYPE {name} gauge\n{name}{{{label}=\"{value}\"}} 1\n"
        );
        lines.expect("writing to a string succeeds");
    }
    text
}

fn rows(member: &Member) -> Vec<Row> {
    let gauge = |name, help, value| Row {
        name,
        kind: "gauge",
        help,
        value,
    };
    let counter = |name, help, value| Row {
        name,
        kind: "counter",
        help,
        value,
    };
    let (revision, compacted, leases) = member.live().inspect(|machine| {
        let leases = machine.leases().len() as u64;
        (machine.revision().0, machine.compacted().0, leases)
    });
    let all = Range {
        content: Content::CountOnly,
        ..Range::new(KeyRange::all())
    };
    let keys = member.range(&all).map_or(0, |answer| answer.count as u64);
    let index = member.store.applied_index();
    let size = member.store.state_size().ok();
    let metrics = &member.metrics;
    vec![
        gauge("etcd_server_has_leader", "Whether a leader exists.", 1),
        gauge("etcd_server_is_leader", "Whether this member leads.", 1),
        gauge(
            "etcd_server_is_learner",
            "Whether this member only learns.",
            0,
        ),
        counter(
            "etcd_server_leader_changes_seen_total",
            "How often the leader changed.",
            1,
        ),
        gauge(
            "etcd_server_proposals_committed_total",
            "Commands that are safe.",
            index,
        ),
        gauge(
            "etcd_server_proposals_applied_total",
            "Commands that were applied.",
            index,
        ),
        gauge(
            "etcd_server_proposals_pending",
            "Writes under way.",
            member.writes_pending() as u64,
        ),
        gauge(
            "etcd_server_quota_backend_bytes",
            "The most bytes of the state.",
            member.quota.bytes().unwrap_or_default(),
        ),
        gauge(
            "etcd_mvcc_db_total_size_in_bytes",
            "The size of the state's file.",
            size.map_or(0, |size| size.file_bytes),
        ),
        gauge(
            "etcd_mvcc_db_total_size_in_use_in_bytes",
            "The bytes of rows in it.",
            size.map_or(0, |size| size.row_bytes),
        ),
        gauge(
            "etcd_debugging_mvcc_current_revision",
            "The revision of the last change.",
            revision,
        ),
        gauge(
            "etcd_debugging_mvcc_compact_revision",
            "The oldest revision that can be read.",
            compacted,
        ),
        gauge(
            "etcd_debugging_mvcc_keys_total",
            "How many keys there are.",
            keys,
        ),
        gauge(
            "etcd_debugging_mvcc_watch_stream_total",
            "How many streams of watchers there are.",
            metrics.watch_streams.present(),
        ),
        gauge(
            "etcd_debugging_mvcc_watcher_total",
            "How many watchers there are.",
            metrics.watchers.present(),
        ),
        counter(
            "etcd_debugging_mvcc_events_total",
            "Events sent to watchers.",
            metrics.events.value(),
        ),
        gauge(
            "etcd_debugging_lease_total",
            "How many leases there are.",
            leases,
        ),
        counter(
            "lockstep_store_auto_compactions_total",
            "Compactions that nobody asked for.",
            metrics.compactions.value(),
        ),
        counter(
            "lockstep_store_defragmentations_total",
            "How often the file was packed.",
            metrics.defragmentations.value(),
        ),
    ]
}
