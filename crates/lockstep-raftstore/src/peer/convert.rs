//! Translation between our messages and those of the Raft library.

use raft::prelude::{ConfState, Entry, EntryType, Message, MessageType, Snapshot};

use super::{RaftEntry, RaftMessage, SnapshotHead};
use crate::cluster::Cluster;
use crate::entry::{EntryKind, LogEntry, Position};

/// Types of messages that members send each other; others are the library's own.
const KINDS: &[MessageType] = &[
    MessageType::MsgPropose,
    MessageType::MsgAppend,
    MessageType::MsgAppendResponse,
    MessageType::MsgRequestVote,
    MessageType::MsgRequestVoteResponse,
    MessageType::MsgSnapshot,
    MessageType::MsgHeartbeat,
    MessageType::MsgHeartbeatResponse,
    MessageType::MsgTransferLeader,
    MessageType::MsgTimeoutNow,
    MessageType::MsgReadIndex,
    MessageType::MsgReadIndexResp,
    MessageType::MsgRequestPreVote,
    MessageType::MsgRequestPreVoteResponse,
];

/// Our form of a message of the library.
pub(crate) fn raft_message(message: &Message) -> RaftMessage {
    let snapshot = message.snapshot.as_ref().map(|snapshot| {
        let metadata = snapshot.get_metadata();
        SnapshotHead {
            index: metadata.index,
            term: metadata.term,
            cluster: snapshot.data.clone(),
        }
    });
    let snapshot = snapshot.filter(|head| head.index > 0);
    RaftMessage {
        kind: message.msg_type as i32,
        from: message.from,
        term: message.term,
        log_term: message.log_term,
        index: message.index,
        entries: message.entries.iter().map(raft_entry).collect(),
        commit: message.commit,
        commit_term: message.commit_term,
        request_snapshot: message.request_snapshot,
        reject: message.reject,
        reject_hint: message.reject_hint,
        context: message.context.clone(),
        priority: message.priority,
        snapshot,
    }
}

/// The library's form of a message to `to`; `None` if no member sends such a message.
pub(crate) fn to_raft(wire: RaftMessage, to: u64) -> Option<Message> {
    let kind = KINDS.iter().find(|kind| **kind as i32 == wire.kind)?;
    let entries: Option<Vec<Entry>> = wire.entries.into_iter().map(from_wire).collect();
    let entries = entries?;
    let is_configuration = |entry: &Entry| entry.entry_type != EntryType::EntryNormal;
    // The library takes a message without a term for one of its own. Members send only forwarded requests so.
    let is_forwarded = [MessageType::MsgPropose, MessageType::MsgReadIndex].contains(kind);
    if is_forwarded != (wire.term == 0) {
        return None;
    }
    // The library would parse a forwarded change of members. Such a change is proposed at the leader only.
    if *kind == MessageType::MsgPropose && entries.iter().any(is_configuration) {
        return None;
    }
    // A read is asked for with a context as its only entry.
    let is_read = [MessageType::MsgReadIndex, MessageType::MsgReadIndexResp].contains(kind);
    if is_read && entries.len() != 1 {
        return None;
    }
    let mut message = Message::default();
    message.set_msg_type(*kind);
    message.to = to;
    message.from = wire.from;
    message.term = wire.term;
    message.log_term = wire.log_term;
    message.index = wire.index;
    message.set_entries(entries.into());
    message.commit = wire.commit;
    message.commit_term = wire.commit_term;
    message.request_snapshot = wire.request_snapshot;
    message.reject = wire.reject;
    message.reject_hint = wire.reject_hint;
    message.context = wire.context;
    message.priority = wire.priority;
    match (wire.snapshot, *kind == MessageType::MsgSnapshot) {
        (Some(head), true) => message.set_snapshot(snapshot(&head)?),
        (None, false) => {}
        _ => return None,
    }
    Some(message)
}

fn snapshot(head: &SnapshotHead) -> Option<Snapshot> {
    let cluster = Cluster::decode(&head.cluster).ok()?;
    let mut snapshot = Snapshot::default();
    let metadata = snapshot.mut_metadata();
    metadata.index = head.index;
    metadata.term = head.term;
    metadata.set_conf_state(configuration(&cluster));
    snapshot.data = head.cluster.clone();
    Some(snapshot)
}

/// The library's form of who has a vote and who receives the log.
pub(crate) fn configuration(cluster: &Cluster) -> ConfState {
    let mut state = ConfState::default();
    state.set_voters(cluster.voters().map(|id| id.0).collect());
    state.set_learners(cluster.learners().map(|id| id.0).collect());
    state
}

fn raft_entry(entry: &Entry) -> RaftEntry {
    let LogEntry {
        position,
        kind,
        data,
    } = entry_from_raft(entry);
    RaftEntry {
        kind: kind.into(),
        term: position.term,
        index: position.index,
        data,
    }
}

fn from_wire(wire: RaftEntry) -> Option<Entry> {
    Some(entry_to_raft(LogEntry {
        position: Position {
            index: wire.index,
            term: wire.term,
        },
        kind: EntryKind::try_from(wire.kind).ok()?,
        data: wire.data,
    }))
}

/// Our form of an entry of the library.
pub(crate) fn entry_from_raft(entry: &Entry) -> LogEntry {
    LogEntry {
        position: Position {
            index: entry.index,
            term: entry.term,
        },
        kind: match entry.entry_type {
            EntryType::EntryNormal => EntryKind::Normal,
            EntryType::EntryConfChange | EntryType::EntryConfChangeV2 => EntryKind::Configuration,
        },
        data: entry.data.clone(),
    }
}

/// The library's form of an entry.
pub(crate) fn entry_to_raft(entry: LogEntry) -> Entry {
    let mut raft = Entry::default();
    raft.set_entry_type(match entry.kind {
        EntryKind::Normal => EntryType::EntryNormal,
        EntryKind::Configuration => EntryType::EntryConfChange,
    });
    raft.index = entry.position.index;
    raft.term = entry.position.term;
    raft.data = entry.data;
    raft
}
