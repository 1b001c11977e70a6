//! Prometheus text format 0.0.4.

use std::fmt::{Display, Write};

use lockstep_mvcc::{Content, KeyRange, Range};
use lockstep_storage_embedded::{Counted, Histogram};

use super::calls::CODES;
use crate::member::Member;
use crate::methods::METHODS;

/// A metric without labels.
struct Row {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    value: u64,
}

/// Text builder.
#[derive(Default)]
struct Text(String);

impl Text {
    fn begin(&mut self, name: &str, kind: &str, help: &str) {
        let lines = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        lines.expect("writing to a string succeeds");
    }

    fn value(&mut self, name: &str, labels: &str, value: impl Display) {
        let line = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
        line.expect("writing to a string succeeds");
    }

    fn histogram(&mut self, name: &str, labels: &str, histogram: &Histogram) {
        let Counted {
            buckets,
            count,
            sum,
        } = histogram.counted();
        let bucket = format!("{name}_bucket");
        let comma = if labels.is_empty() { "" } else { "," };
        for (micros, upto) in buckets {
            let seconds = std::time::Duration::from_micros(micros).as_secs_f64();
            let labels = format!("{labels}{comma}le=\"{seconds}\"");
            self.value(&bucket, &labels, upto);
        }
        self.value(&bucket, &format!("{labels}{comma}le=\"+Inf\""), count);
        self.value(&format!("{name}_sum"), labels, sum.as_secs_f64());
        self.value(&format!("{name}_count"), labels, count);
    }
}

/// Renders all metrics.
pub(crate) fn text(member: &Member) -> String {
    let mut text = Text::default();
    let groups = [
        server_rows(member),
        storage_rows(member),
        debugging_rows(member),
    ];
    for row in groups.into_iter().flatten() {
        text.begin(row.name, row.kind, row.help);
        text.value(row.name, "", row.value);
    }
    names(member, &mut text);
    disk(member, &mut text);
    calls(member, &mut text);
    text.0
}

/// Info metrics, whose value is in a label.
fn names(member: &Member, text: &mut Text) {
    let id = member.identity.member_id;
    let level = member.config.level;
    for (name, help, label, value) in [
        (
            "etcd_server_id",
            "The id of this member, in hexadecimal.",
            "server_id",
            format!("{id:x}"),
        ),
        (
            "etcd_server_version",
            "API version served by this member.",
            "server_version",
            level.release(),
        ),
        (
            "etcd_cluster_version",
            "API version served by all members.",
            "cluster_version",
            level.to_string(),
        ),
    ] {
        text.begin(name, "gauge", help);
        text.value(name, &format!("{label}=\"{value}\""), 1);
    }
}

/// Disk latency histograms.
fn disk(member: &Member, text: &mut Text) {
    for (name, help, histogram) in [
        (
            "etcd_disk_wal_fsync_duration_seconds",
            "Latency of fsync of the write-ahead log.",
            member.store.log_sync_times(),
        ),
        (
            "etcd_disk_backend_commit_duration_seconds",
            "Latency of commits to the state file.",
            member.store.state_commit_times(),
        ),
    ] {
        text.begin(name, "histogram", help);
        text.histogram(name, "", histogram);
    }
}

/// Call metrics by method.
fn calls(member: &Member, text: &mut Text) {
    let calls = &member.metrics.calls;
    let rows: Vec<_> = METHODS
        .iter()
        .zip(calls.methods())
        .map(|(method, counts)| {
            let (service, name, kind) = (method.service, method.name, method.kind.label());
            let labels = format!(
                "grpc_method=\"{name}\",grpc_service=\"etcdserverpb.{service}\",grpc_type=\"{kind}\""
            );
            (labels, counts)
        })
        .collect();
    let name = "grpc_server_started_total";
    text.begin(name, "counter", "Requests started.");
    for (labels, counts) in &rows {
        text.value(name, labels, counts.started.value());
    }
    let name = "grpc_server_handled_total";
    text.begin(name, "counter", "Requests completed, by status code.");
    for (labels, counts) in &rows {
        for (code, handled) in CODES.iter().zip(&counts.handled) {
            if handled.value() > 0 {
                let labels = format!("grpc_code=\"{code}\",{labels}");
                text.value(name, &labels, handled.value());
            }
        }
    }
    let name = "grpc_server_msg_received_total";
    text.begin(name, "counter", "Messages received from clients.");
    for (labels, counts) in &rows {
        text.value(name, labels, counts.received.value());
    }
    let name = "grpc_server_msg_sent_total";
    text.begin(name, "counter", "Messages sent to clients.");
    for (labels, counts) in &rows {
        text.value(name, labels, counts.sent.value());
    }
    let name = "grpc_server_handling_seconds";
    text.begin(name, "histogram", "Latency of requests.");
    for (labels, counts) in &rows {
        if counts.started.value() > 0 {
            text.histogram(name, labels, &counts.seconds);
        }
    }
}

fn gauge(name: &'static str, help: &'static str, value: u64) -> Row {
    Row {
        name,
        kind: "gauge",
        help,
        value,
    }
}

fn counter(name: &'static str, help: &'static str, value: u64) -> Row {
    Row {
        name,
        kind: "counter",
        help,
        value,
    }
}

fn server_rows(member: &Member) -> Vec<Row> {
    let index = member.store.applied_index();
    let metrics = &member.metrics;
    vec![
        gauge("etcd_server_has_leader", "Whether a leader exists.", 1),
        gauge(
            "etcd_server_is_leader",
            "Whether this member is the leader.",
            1,
        ),
        gauge(
            "etcd_server_is_learner",
            "Whether this member is a learner.",
            0,
        ),
        counter(
            "etcd_server_leader_changes_seen_total",
            "Leader changes seen.",
            1,
        ),
        counter(
            "etcd_server_learner_promote_successes",
            "Learners that were promoted.",
            0,
        ),
        gauge(
            "etcd_server_proposals_committed_total",
            "Proposals committed.",
            index,
        ),
        gauge(
            "etcd_server_proposals_applied_total",
            "Proposals applied.",
            index,
        ),
        gauge(
            "etcd_server_proposals_pending",
            "Proposals pending.",
            member.writes_pending() as u64,
        ),
        counter(
            "etcd_server_proposals_failed_total",
            "Proposals failed with an unknown outcome.",
            metrics.failed_proposals.value(),
        ),
        counter(
            "etcd_server_slow_apply_total",
            "Commands whose apply exceeded the slow threshold.",
            member.store.slow_applies(),
        ),
        counter(
            "etcd_server_slow_read_indexes_total",
            "Reads that waited long for the leader: none, it is this member.",
            0,
        ),
        counter(
            "etcd_server_heartbeat_send_failures_total",
            "Heartbeats to other members that failed: there are no others.",
            0,
        ),
        counter(
            "etcd_server_read_indexes_failed_total",
            "Reads failed for lack of a leader.",
            0,
        ),
        gauge(
            "etcd_server_quota_backend_bytes",
            "Backend quota in bytes.",
            member.quota.bytes().unwrap_or_default(),
        ),
        counter(
            "etcd_server_health_success",
            "Successful health checks.",
            metrics.health_successes.value(),
        ),
        counter(
            "etcd_server_health_failures",
            "Failed health checks.",
            metrics.health_failures.value(),
        ),
        counter(
            "etcd_network_client_grpc_received_bytes_total",
            "Bytes of messages from clients.",
            metrics.calls.received_bytes.value(),
        ),
        counter(
            "etcd_network_client_grpc_sent_bytes_total",
            "Bytes of messages to clients.",
            metrics.calls.sent_bytes.value(),
        ),
    ]
}

fn storage_rows(member: &Member) -> Vec<Row> {
    let size = member.store.state_size().ok();
    let metrics = &member.metrics;
    let operations = &metrics.operations;
    vec![
        gauge(
            "etcd_mvcc_db_total_size_in_bytes",
            "Size of the state file.",
            size.map_or(0, |size| size.file_bytes),
        ),
        gauge(
            "etcd_mvcc_db_total_size_in_use_in_bytes",
            "Bytes of the state file in use.",
            size.map_or(0, |size| size.row_bytes),
        ),
        counter(
            "etcd_mvcc_range_total",
            "Reads of keys.",
            operations.ranges.value(),
        ),
        counter(
            "etcd_mvcc_put_total",
            "Puts of keys.",
            operations.puts.value(),
        ),
        counter(
            "etcd_mvcc_delete_total",
            "Deletes of keys.",
            operations.deletes.value(),
        ),
        counter(
            "etcd_mvcc_txn_total",
            "Transactions.",
            operations.txns.value(),
        ),
        counter(
            "lockstep_store_auto_compactions_total",
            "Automatic compactions.",
            metrics.compactions.value(),
        ),
        counter(
            "lockstep_store_defragmentations_total",
            "Defragmentations.",
            metrics.defragmentations.value(),
        ),
    ]
}

fn debugging_rows(member: &Member) -> Vec<Row> {
    let (revision, compacted, leases) = member.live().inspect(|machine| {
        let leases = machine.leases().len() as u64;
        (machine.revision().0, machine.compacted().0, leases)
    });
    let all = Range {
        content: Content::CountOnly,
        ..Range::new(KeyRange::all())
    };
    let keys = member.range(&all).map_or(0, |answer| answer.count as u64);
    let metrics = &member.metrics;
    let backlog = member.live().backlog();
    vec![
        gauge(
            "etcd_debugging_mvcc_current_revision",
            "Current revision.",
            revision,
        ),
        gauge(
            "etcd_debugging_mvcc_compact_revision",
            "Compacted revision, the oldest readable one.",
            compacted,
        ),
        gauge("etcd_debugging_mvcc_keys_total", "Number of keys.", keys),
        gauge(
            "etcd_debugging_mvcc_watch_stream_total",
            "Number of watch streams.",
            metrics.watch_streams.present(),
        ),
        gauge(
            "etcd_debugging_mvcc_watcher_total",
            "Number of watchers.",
            metrics.watchers.present(),
        ),
        gauge(
            "etcd_debugging_mvcc_slow_watcher_total",
            "Number of watchers with undelivered revisions.",
            backlog.watchers,
        ),
        gauge(
            "etcd_debugging_mvcc_pending_events_total",
            "Undelivered revisions, summed over watchers.",
            backlog.revisions,
        ),
        counter(
            "etcd_debugging_mvcc_range_total",
            "Reads of keys.",
            metrics.operations.ranges.value(),
        ),
        counter(
            "etcd_debugging_mvcc_put_total",
            "Puts of keys.",
            metrics.operations.puts.value(),
        ),
        counter(
            "etcd_debugging_mvcc_delete_total",
            "Deletes of keys.",
            metrics.operations.deletes.value(),
        ),
        counter(
            "etcd_debugging_mvcc_txn_total",
            "Transactions.",
            metrics.operations.txns.value(),
        ),
        counter(
            "etcd_debugging_mvcc_events_total",
            "Events sent to watchers.",
            metrics.events.value(),
        ),
        gauge("etcd_debugging_lease_total", "Number of leases.", leases),
    ]
}
