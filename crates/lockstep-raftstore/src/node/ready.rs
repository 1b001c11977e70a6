//! Results of the Raft library, written, sent and applied in the order that is safe.

use lockstep_mvcc::MemberId;
use raft::StateRole;
use raft::prelude::{ConfChange, Entry, EntryType, Message, MessageType, Ready};

use super::events::{Committed, Effect, Persist, Role};
use super::window::Checkpoint;
use super::{Node, Omission, Unsent, change_type};
use crate::cluster::{Cluster, MemberChange};
use crate::entry::{Content, EntryKind, HardState, Position};
use crate::peer::{Body, entry_from_raft, raft_message};

impl Node {
    /// Collects all that the library wants done.
    pub(super) fn drive(&mut self) {
        self.set_election_timeout();
        while !self.is_stopped && self.raft.has_ready() {
            let ready = self.raft.ready();
            self.handle_ready(ready);
            self.set_election_timeout();
        }
        let ready = self.reads.ready(self.applied);
        if !ready.is_empty() {
            self.effects.push(Effect::ReadReady(ready));
        }
        self.ask_for_checkpoint();
        self.see_role();
    }

    pub(super) fn handle_ready(&mut self, mut ready: Ready) {
        let ticket = ready.number();
        // A new configuration is told to others once it cannot be forgotten here: the quorum of the old one may be
        // gone when this member comes back.
        let is_configuration = |entry: &Entry| entry.get_entry_type() != EntryType::EntryNormal;
        let holds_back = ready.committed_entries().iter().any(is_configuration);
        let mut messages = ready.take_messages();
        if !holds_back {
            self.send_all(std::mem::take(&mut messages));
        }
        for state in ready.take_read_states() {
            let takes_any = self.options.omissions.has(Omission::ReadRounds);
            self.reads
                .confirm(&state.request_ctx, state.index, takes_any);
        }
        if let Some(state) = ready.hs() {
            self.hard_state = HardState {
                term: state.term,
                vote: state.vote,
                commit: state.commit,
            };
        }
        let mut install = None;
        if !ready.snapshot().is_empty() {
            let metadata = ready.snapshot().get_metadata();
            let position = Position {
                index: metadata.index,
                term: metadata.term,
            };
            self.cluster =
                Cluster::decode(&ready.snapshot().data).expect("it was decoded when it arrived");
            self.handed_out = position.index;
            self.incoming.installing = Some(ticket);
            install = Some(position);
            let checkpoint = Checkpoint::new(position, self.cluster.clone());
            self.raft.mut_store().install(checkpoint);
        }
        let entries = ready.take_entries();
        self.raft.mut_store().append(&entries);
        let committed = ready.take_committed_entries();
        messages.extend(ready.take_persisted_messages());
        let needs_disk = ready.must_sync() || holds_back;
        if needs_disk {
            self.effects.push(Effect::Persist(Persist {
                ticket,
                install,
                hard_state: Some(self.hard_state),
                entries: entries.iter().map(entry_from_raft).collect(),
            }));
        }
        self.raft.advance_append_async(ready);
        self.unsent.push_back(Unsent {
            ticket,
            messages,
            needs_disk,
            install,
        });
        self.hand_out(&committed);
        self.send_safe();
    }

    pub(super) fn persisted(&mut self, ticket: u64) {
        for unsent in &mut self.unsent {
            if unsent.ticket <= ticket {
                unsent.needs_disk = false;
            }
        }
        self.send_safe();
    }

    /// Sends the messages of which everything before is safe on disk.
    pub(super) fn send_safe(&mut self) {
        while self.unsent.front().is_some_and(|unsent| !unsent.needs_disk)
            && let Some(unsent) = self.unsent.pop_front()
        {
            self.raft.on_persist_ready(unsent.ticket);
            if let Some(position) = unsent.install {
                self.applied(position.index);
                self.incoming.installing.take_if(|at| *at <= unsent.ticket);
                self.release();
            }
            self.send_all(unsent.messages);
        }
    }

    /// Hands out committed entries, and lets changes of the membership take effect.
    pub(super) fn hand_out(&mut self, entries: &[Entry]) {
        let mut committed = Vec::with_capacity(entries.len());
        let mut stop = None;
        for entry in entries.iter().map(entry_from_raft) {
            let content = match entry.content() {
                Ok(content) => content,
                Err(unknown) => {
                    stop = Some(unknown.into());
                    break;
                }
            };
            self.handed_out = entry.position.index;
            let id = match &content {
                Content::Empty => None,
                Content::Command(id, _) => Some(*id),
                Content::Members(id, change) => {
                    self.change_members(entry.position.index, entry.kind, change);
                    if self.is_removed(self.options.id) {
                        self.leave();
                    }
                    Some(*id)
                }
            };
            committed.push(Committed {
                position: entry.position,
                content,
                request: id.and_then(|id| self.proposals.answer(id)),
            });
        }
        if !committed.is_empty() {
            self.effects.push(Effect::Apply(committed));
        }
        if let Some(reason) = stop {
            self.stop(reason);
        }
    }

    pub(super) fn change_members(&mut self, index: u64, kind: EntryKind, change: &MemberChange) {
        if self.options.omissions.has(Omission::RemovedIds) {
            self.cluster.forget_removed(change);
        }
        let changed = self.cluster.apply(index, change);
        if changed.is_err() || kind != EntryKind::Configuration {
            return;
        }
        let mut configuration = ConfChange::default();
        configuration.set_change_type(change_type(change));
        configuration.node_id = change.id().0;
        self.raft
            .apply_conf_change(&configuration)
            .expect("the membership keeps a voter");
    }

    pub(super) fn send_all(&mut self, messages: Vec<Message>) {
        for message in messages {
            let to = message.to;
            let is_snapshot = message.get_msg_type() == MessageType::MsgSnapshot;
            let message = raft_message(&message);
            if is_snapshot {
                let piece = self.outgoing.start(to, message, self.ticks);
                self.read_pieces(piece);
            } else {
                let sent = self.send(to, Body::Raft(message));
                self.effects.push(sent);
            }
        }
    }

    pub(super) fn see_role(&mut self) {
        let raft = &self.raft.raft;
        let role = Role {
            term: raft.term,
            leader: Some(MemberId(raft.leader_id)).filter(|id| id.0 != 0),
            is_leader: raft.state == StateRole::Leader,
        };
        if role == self.role {
            return;
        }
        if self.role.is_leader && !role.is_leader {
            self.outgoing.clear();
        }
        self.role = role;
        self.effects.push(Effect::Role(role));
        let arrived = self.transfer.take_if(|(_, to, _)| role.leader == Some(*to));
        if let Some((request, ..)) = arrived {
            self.effects.push(Effect::Answer(request, Ok(())));
        }
    }
}
