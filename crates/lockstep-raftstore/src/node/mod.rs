//! [`Node`]: consensus on the log and the membership, without IO.

mod events;
mod options;
mod proposals;
mod reads;
mod requests;
mod snapshots;
mod window;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lockstep_mvcc::MemberId;
use raft::prelude::{
    ConfChange, ConfChangeType, Config, Entry, EntryType, Message, MessageType, Ready,
};
use raft::{RawNode, SnapshotStatus, StateRole};

use crate::cluster::{Cluster, MemberChange};
use crate::entry::{Content, EntryKind, HardState, Position};
use crate::peer::{
    Body, ChunkReceived, Envelope, Hello, RaftMessage, Removed, SnapshotChunk, entry_from_raft,
    raft_message, to_raft,
};

pub use events::{Committed, Effect, Event, Persist, Refusal, RequestId, Role, StopReason};
pub use options::{Omission, Omissions, Options, Start, StartError};
use proposals::Proposals;
use reads::Reads;
use snapshots::{Ended, Incoming, Outgoing, Piece, Taken};
use window::{Checkpoint, LogWindow};

/// Election timeouts without a leader after which a member greets its peers.
const GREETING_ELECTIONS: u64 = 3;

/// Election timeouts after which a removed member stops, also if it hears of no member that knows of the removal.
const LEAVING_ELECTIONS: u64 = 60;

/// One member's part in the consensus. The same events give the same effects.
pub struct Node {
    options: Options,
    raft: RawNode<LogWindow>,
    /// The membership after the last entry that was handed out.
    cluster: Cluster,
    hard_state: HardState,
    ticks: u64,
    leaderless_since: u64,
    /// The last index handed out to be applied.
    handed_out: u64,
    applied: u64,
    is_checkpointing: bool,
    proposals: Proposals,
    reads: Reads,
    outgoing: Outgoing,
    incoming: Incoming,
    /// The request to move the leadership, its target and its end.
    transfer: Option<(RequestId, MemberId, u64)>,
    /// Messages that wait until a write is safe, by ticket.
    unsent: VecDeque<Unsent>,
    /// The newest process start of each member that a message came from.
    boots: BTreeMap<u64, u64>,
    role: Role,
    /// Set once the member is removed: the tick at which it stops in any case.
    leaving: Option<u64>,
    is_stopped: bool,
    effects: Vec<Effect>,
}

struct Unsent {
    ticket: u64,
    messages: Vec<Message>,
    needs_disk: bool,
    install: Option<Position>,
}

impl Node {
    /// Starts a node from its state on disk.
    pub fn new(options: Options, start: Start) -> Result<Self, StartError> {
        let Start {
            mut hard_state,
            checkpoint,
            cluster,
            base,
            entries,
        } = start;
        let last = entries.last().map_or(base, |entry| entry.position).index;
        // The commit index is written along with other things, so it may be older than the checkpoint.
        hard_state.commit = hard_state.commit.max(checkpoint.index);
        hard_state.term = hard_state.term.max(checkpoint.term);
        if last < hard_state.commit {
            return Err(StartError::LogTooShort {
                last,
                needed: hard_state.commit,
            });
        }
        let known = Checkpoint::new(checkpoint, cluster.clone());
        let window = LogWindow::new(base, entries, known, hard_state);
        let config = Config {
            id: options.id.0,
            election_tick: options.election_ticks,
            heartbeat_tick: 1,
            applied: checkpoint.index,
            max_size_per_msg: 1 << 20,
            max_inflight_msgs: 256,
            max_uncommitted_size: 64 << 20,
            max_committed_size_per_ready: 16 << 20,
            check_quorum: true,
            pre_vote: true,
            ..Config::default()
        };
        let logger = slog::Logger::root(slog::Discard, slog::o!());
        let raft = RawNode::new(&config, window, &logger)?;
        let mut node = Self {
            raft,
            cluster,
            hard_state,
            ticks: 0,
            leaderless_since: 0,
            handed_out: checkpoint.index,
            applied: checkpoint.index,
            is_checkpointing: false,
            proposals: Proposals::new(options.id, options.boot),
            reads: Reads::new(options.boot),
            outgoing: Outgoing::default(),
            incoming: Incoming::default(),
            transfer: None,
            unsent: VecDeque::new(),
            boots: BTreeMap::new(),
            role: Role::default(),
            leaving: None,
            is_stopped: false,
            effects: Vec::new(),
            options,
        };
        node.set_election_timeout();
        if node.is_removed(node.options.id) {
            node.leave();
        }
        Ok(node)
    }

    /// The membership after the last entry that was handed out.
    pub fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// The present role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The last entry of the log.
    pub fn last(&self) -> Position {
        self.raft.store().last()
    }

    /// Term of an entry that is in memory.
    pub fn term_at(&self, index: u64) -> Option<u64> {
        self.raft.store().term_at(index)
    }

    /// The last index that is known to be committed.
    pub fn committed(&self) -> u64 {
        self.raft.raft.raft_log.committed
    }

    /// Handles an event. Effects are in the order in which they have to happen.
    pub fn step(&mut self, event: Event) -> Vec<Effect> {
        if self.is_stopped || self.leaving.is_some() && event.is_request() {
            self.refuse(&event);
            return std::mem::take(&mut self.effects);
        }
        match event {
            Event::Tick => self.tick(),
            Event::Message(envelope) => self.receive(envelope),
            Event::Persisted { ticket } => self.persisted(ticket),
            Event::Applied { index } => self.applied(index),
            Event::CheckpointWritten { position, cluster } => {
                self.is_checkpointing = false;
                self.checkpointed(Checkpoint::new(position, cluster));
            }
            Event::ChunkRead {
                to,
                position,
                offset,
                bytes,
                is_last,
            } => {
                let piece = Piece {
                    to: to.0,
                    position,
                    offset,
                };
                match self.outgoing.chunk(piece, bytes, is_last) {
                    Ok(chunk) => {
                        let body = chunk.map(Body::Chunk);
                        self.effects.extend(body.map(|body| self.send(to.0, body)));
                    }
                    Err(ended) => self.end_transfer(ended),
                }
            }
            Event::ChunkWritten {
                from,
                position,
                received,
                is_damaged,
            } => self.chunk_written(from.0, position, received, is_damaged),
            Event::Propose { request, command } => self.propose(request, &command),
            Event::Change { request, change } => self.change(request, &change),
            Event::Read { request } => self.reads.arrive(request, self.deadline()),
            Event::Transfer { request, to } => self.transfer(request, to),
        }
        if let Some(context) = self.reads.ask(self.ticks) {
            self.raft.read_index(context);
        }
        self.drive();
        std::mem::take(&mut self.effects)
    }

    fn tick(&mut self) {
        self.ticks += 1;
        self.raft.tick();
        self.greet();
        if self.leaving.is_some_and(|deadline| deadline <= self.ticks) {
            return self.stop(StopReason::Removed);
        }
        let (pieces, ended) = self.outgoing.tick(self.ticks);
        self.read_pieces(pieces);
        for ended in ended {
            self.end_transfer(ended);
        }
        let mut expired = self.proposals.expire(self.ticks);
        expired.extend(self.reads.expire(self.ticks));
        let transfer = self
            .transfer
            .take_if(|(.., deadline)| *deadline <= self.ticks);
        expired.extend(transfer.map(|(request, ..)| request));
        let answers = expired.into_iter();
        let answers = answers.map(|request| Effect::Answer(request, Err(Refusal::TimedOut)));
        self.effects.extend(answers);
    }

    /// Greets all peers while no leader is known, so that a member learns that it was removed while it was away. One
    /// that knows it greets to learn that another member knows it too.
    fn greet(&mut self) {
        if self.role.leader.is_some() && self.leaving.is_none() {
            self.leaderless_since = self.ticks;
        }
        let interval = match self.leaving {
            Some(_) => 1,
            None => GREETING_ELECTIONS,
        };
        let interval = interval * self.options.election_ticks as u64;
        let alone = self.ticks - self.leaderless_since;
        if alone > 0 && alone.is_multiple_of(interval) {
            for peer in self.peers() {
                let greeting = self.send(peer.0, Body::Hello(Hello {}));
                self.effects.push(greeting);
            }
        }
    }

    fn peers(&self) -> BTreeSet<MemberId> {
        let members = self.cluster.members().map(|(id, _)| id);
        let mut peers: BTreeSet<_> = members.chain(self.options.known.iter().copied()).collect();
        peers.remove(&self.options.id);
        peers
    }

    fn receive(&mut self, envelope: Envelope) {
        let Envelope {
            cluster_id,
            from,
            to,
            boot,
            body: Some(body),
        } = envelope
        else {
            return;
        };
        if (cluster_id, to) != (self.options.cluster_id.0, self.options.id.0) {
            return;
        }
        if self.is_removed(MemberId(from)) {
            if !matches!(body, Body::Removed(_)) {
                let told = self.send(from, Body::Removed(Removed {}));
                self.effects.push(told);
            }
            return;
        }
        let newest = self.boots.entry(from).or_default();
        if boot < *newest {
            return;
        }
        *newest = boot;
        match body {
            Body::Raft(message) => self.step_raft(message),
            Body::Chunk(chunk) => self.receive_chunk(from, chunk),
            Body::ChunkReceived(received) => self.receive_progress(from, &received),
            Body::Hello(_) => {}
            Body::Removed(_) => {
                if self.peers().contains(&MemberId(from)) {
                    self.leave();
                    self.stop(StopReason::Removed);
                }
            }
        }
    }

    fn is_removed(&self, id: MemberId) -> bool {
        self.cluster.is_removed(id)
    }

    fn step_raft(&mut self, message: RaftMessage) {
        // A snapshot arrives in pieces, and its message with the last of them.
        if message.snapshot.is_some() {
            return;
        }
        if let Some(message) = to_raft(message, self.options.id.0) {
            // A message that does not fit the present term or members is dropped; Raft sends it again.
            drop(self.raft.step(message));
        }
    }

    fn receive_chunk(&mut self, from: u64, chunk: SnapshotChunk) {
        match self.incoming.take(from, chunk, self.ticks) {
            Taken::Write(chunk) => self.effects.push(Effect::WriteChunk {
                from: MemberId(from),
                position: Position {
                    index: chunk.index,
                    term: chunk.term,
                },
                offset: chunk.offset,
                bytes: chunk.bytes,
                is_last: chunk.message.is_some(),
            }),
            Taken::Tell(received) => {
                let told = self.send(from, Body::ChunkReceived(received));
                self.effects.push(told);
            }
            Taken::Ignored => {}
        }
    }

    fn receive_progress(&mut self, from: u64, received: &ChunkReceived) {
        match self.outgoing.received(from, received, self.ticks) {
            Ok(piece) => self.read_pieces(piece),
            Err(ended) => self.end_transfer(ended),
        }
    }

    fn chunk_written(&mut self, from: u64, position: Position, received: u64, is_damaged: bool) {
        let written = self.incoming.written(from, position, received, is_damaged);
        let Some((received, message)) = written else {
            return;
        };
        let told = self.send(from, Body::ChunkReceived(received));
        self.effects.push(told);
        let id = self.options.id.0;
        if let Some(message) = message.and_then(|message| to_raft(message, id)) {
            drop(self.raft.step(message));
        }
    }

    fn read_pieces(&mut self, pieces: impl IntoIterator<Item = Piece>) {
        let bytes_max = self.options.chunk_bytes;
        let effects = pieces.into_iter().map(|piece| Effect::ReadChunk {
            to: MemberId(piece.to),
            position: piece.position,
            offset: piece.offset,
            bytes_max,
        });
        self.effects.extend(effects);
    }

    fn end_transfer(&mut self, ended: Ended) {
        let (to, status) = match ended {
            Ended::Complete(to) => (to, SnapshotStatus::Finish),
            Ended::GivenUp(to) => (to, SnapshotStatus::Failure),
        };
        self.raft.report_snapshot(to, status);
        self.release();
    }

    fn applied(&mut self, index: u64) {
        self.applied = self.applied.max(index);
        // A snapshot may have gone past the entry.
        if index > self.raft.raft.raft_log.applied {
            self.raft.advance_apply_to(index);
        }
    }

    /// Asks for a checkpoint if the log has become long, or a member needs a newer one.
    fn ask_for_checkpoint(&mut self) {
        let window = self.raft.store();
        let covered = window.checkpoint().position.index;
        let is_due = self.applied >= covered + self.options.checkpoint_entries
            || window.bytes() >= self.options.log_bytes_enough
            || window.wants_checkpoint();
        if is_due && self.applied > covered && !self.is_checkpointing {
            self.is_checkpointing = true;
            self.effects.push(Effect::Checkpoint);
        }
    }

    fn checkpointed(&mut self, checkpoint: Checkpoint) {
        let window = self.raft.mut_store();
        if checkpoint.position <= window.checkpoint().position {
            return;
        }
        let keep = if window.bytes() >= self.options.log_bytes_enough {
            0
        } else {
            self.options.catch_up_entries
        };
        let up_to = checkpoint.position.index.saturating_sub(keep);
        window.compact(checkpoint, up_to);
        self.release();
    }

    fn release(&mut self) {
        let window = self.raft.store();
        let newest = window.checkpoint().position.index;
        let checkpoint = self
            .outgoing
            .oldest()
            .map_or(newest, |oldest| oldest.min(newest));
        let log = window.base().index;
        self.effects.push(Effect::Release { log, checkpoint });
    }

    /// Collects all that the library wants done.
    fn drive(&mut self) {
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

    fn handle_ready(&mut self, mut ready: Ready) {
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

    fn persisted(&mut self, ticket: u64) {
        for unsent in &mut self.unsent {
            if unsent.ticket <= ticket {
                unsent.needs_disk = false;
            }
        }
        self.send_safe();
    }

    /// Sends the messages of which everything before is safe on disk.
    fn send_safe(&mut self) {
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
    fn hand_out(&mut self, entries: &[Entry]) {
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

    fn change_members(&mut self, index: u64, kind: EntryKind, change: &MemberChange) {
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

    fn send_all(&mut self, messages: Vec<Message>) {
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

    fn send(&self, to: u64, body: Body) -> Effect {
        Effect::Send(Envelope {
            cluster_id: self.options.cluster_id.0,
            from: self.options.id.0,
            to,
            boot: self.options.boot,
            body: Some(body),
        })
    }

    fn see_role(&mut self) {
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

    /// Replaces the timeout that the library drew from the thread's generator by one that follows from the seed.
    fn set_election_timeout(&mut self) {
        let ticks = self.options.election_ticks;
        let mut mixed = self.options.seed ^ self.raft.raft.term.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let spread = usize::try_from(mixed % ticks as u64).unwrap_or_default();
        self.raft
            .raft
            .set_randomized_election_timeout(ticks + spread);
    }

    /// Serves no requests any more, and stays until another member says that it knows of the removal: the last voters
    /// may need its vote until then.
    fn leave(&mut self) {
        if self.leaving.is_none() {
            let ticks = LEAVING_ELECTIONS * self.options.election_ticks as u64;
            self.leaving = Some(self.ticks + ticks);
            self.leaderless_since = self.ticks;
            self.give_up_requests();
            // The library's leader has to be a member. The next one learns from the log what was committed.
            let raft = &mut self.raft.raft;
            if raft.state == StateRole::Leader {
                raft.become_follower(raft.term, raft::INVALID_ID);
            }
        }
    }

    fn stop(&mut self, reason: StopReason) {
        if !self.is_stopped {
            self.is_stopped = true;
            self.give_up_requests();
            self.effects.push(Effect::Stop(reason));
        }
    }

    fn give_up_requests(&mut self) {
        let waiting = self.proposals.drain().into_iter();
        let waiting = waiting.chain(self.reads.expire(u64::MAX));
        let waiting = waiting.chain(self.transfer.take().map(|(request, ..)| request));
        let answers = waiting.map(|request| Effect::Answer(request, Err(Refusal::Stopped)));
        self.effects.extend(answers);
    }

    fn deadline(&self) -> u64 {
        self.ticks + self.options.request_ticks
    }
}

fn change_type(change: &MemberChange) -> ConfChangeType {
    match change {
        MemberChange::Remove { .. } => ConfChangeType::RemoveNode,
        MemberChange::Add {
            is_learner: true, ..
        } => ConfChangeType::AddLearnerNode,
        MemberChange::Add { .. }
        | MemberChange::Promote { .. }
        | MemberChange::Update { .. }
        | MemberChange::Publish { .. } => ConfChangeType::AddNode,
    }
}
