//! [`Node`]: consensus on the log and the membership, without IO.

mod events;
mod messages;
mod options;
mod proposals;
mod reads;
mod ready;
mod requests;
mod snapshots;
mod window;

use std::collections::{BTreeMap, VecDeque};

use lockstep_mvcc::MemberId;
use raft::prelude::{ConfChangeType, Config, Message};
use raft::{RawNode, StateRole};

use crate::cluster::{Cluster, MemberChange};
use crate::entry::{HardState, Position};
use crate::peer::Body;

pub use events::{Committed, Effect, Event, Persist, Refusal, RequestId, Role, StopReason};
pub use options::{Omission, Omissions, Options, Start, StartError};
use proposals::Proposals;
use reads::Reads;
use snapshots::{Incoming, Outgoing, Piece};
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
