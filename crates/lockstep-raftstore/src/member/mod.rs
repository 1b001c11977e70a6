//! [`Member`]: one member of a replicated store, without IO.
//!
//! It joins the node, the state and the files: effects of the node become operations on files or changes of the state,
//! and their completion becomes an event of the node. The shell around it sends messages, performs operations on files
//! and reads the clock; the simulator is one such shell.

mod disk;
mod io;
mod jobs;
mod leases;
mod open;

use std::collections::{BTreeMap, VecDeque};

use lockstep_mvcc::{Command, LeaseId, Millis};

use crate::cluster::{MemberChange, Publication};
use crate::files::FileOp;
use crate::log::{Identity, Log};
use crate::node::{
    Committed, Effect, Event, Node, Options, Persist, Refusal, RequestId, Role, Start,
};
use crate::state::{Outcome, State};

pub use io::{Input, Output, ReadPurpose};
use jobs::{Done, Lane};
use leases::{Expiry, NoClock};
pub use open::{Contents, First, OpenError};
use open::{checkpoint_name, write_state};

/// Name of a checkpoint while it is written.
const CHECKPOINT_NEW: &str = "checkpoint.new";
/// Name of a snapshot while it is received.
const INCOMING: &str = "incoming.new";

/// Requests of the member itself have this bit.
const OWN: u64 = 1 << 63;
/// Ticks after which a publication is tried again.
const PUBLISH_TICKS: u64 = 20;

/// Options of a member that are not the node's.
#[derive(Clone, Debug)]
pub struct MemberOptions {
    /// Options of the node. `boot` is set when the directory is opened.
    pub node: Options,
    /// Its name.
    pub name: String,
    /// URLs at which clients reach it.
    pub client_urls: Vec<String>,
    /// Size of a log segment from which the next one begins.
    pub segment_bytes: u64,
    /// Random number, for the checksums of the log.
    pub salt: u64,
}

/// A member.
pub struct Member {
    options: MemberOptions,
    node: Node,
    state: State,
    log: Log,
    now: Millis,
    ticks: u64,
    /// False until the number of this process start is safe.
    is_open: bool,
    next_job: u64,
    log_lane: Lane,
    state_lane: Lane,
    /// Writes that wait for the log's lane.
    unwritten: VecDeque<Persist>,
    /// A complete snapshot that was checked and may be installed.
    received: Option<State>,
    /// Files of states, by index.
    states: BTreeMap<u64, String>,
    expiry: Expiry,
    keep_alives: BTreeMap<RequestId, LeaseId>,
    own_requests: u64,
    publish_at: u64,
    outputs: Vec<Output>,
}

impl Member {
    /// Opens a member on what was read from its directory.
    pub fn open(
        mut options: MemberOptions,
        contents: Contents,
    ) -> Result<(Self, Vec<Output>), OpenError> {
        let Contents {
            state,
            log: found,
            boot,
            states,
            mut ops,
        } = contents;
        options.node.boot = boot;
        let identity = Identity {
            cluster_id: options.node.cluster_id,
            id: options.node.id,
        };
        let (log, begin) = Log::resume(identity, boot, options.salt, options.segment_bytes, &found);
        let start = Start {
            hard_state: found.hard_state,
            checkpoint: state.position,
            cluster: state.cluster.clone(),
            base: found.base,
            entries: found.entries,
        };
        let node = Node::new(options.node.clone(), start)?;
        ops.extend(begin);
        let mut member = Self {
            options,
            node,
            state,
            log,
            now: Millis::default(),
            ticks: 0,
            is_open: false,
            next_job: 0,
            log_lane: Lane::default(),
            state_lane: Lane::default(),
            unwritten: VecDeque::new(),
            received: None,
            states,
            expiry: Expiry::default(),
            keep_alives: BTreeMap::new(),
            own_requests: 0,
            publish_at: 0,
            outputs: Vec::new(),
        };
        member.log_lane.push(ops, Done::Opened);
        member.start_jobs();
        let outputs = std::mem::take(&mut member.outputs);
        Ok((member, outputs))
    }

    /// The applied state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The consensus.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Handles an input.
    pub fn step(&mut self, input: Input) -> Vec<Output> {
        self.handle(input);
        self.start_jobs();
        std::mem::take(&mut self.outputs)
    }

    fn handle(&mut self, input: Input) {
        match input {
            Input::FilesDone { job } => self.files_done(job),
            _ if !self.is_open => self.refuse(&input),
            Input::Tick { now } => self.tick(now),
            Input::Message(envelope) => self.node_step(Event::Message(envelope)),
            Input::FileRead {
                purpose,
                bytes,
                is_last,
            } => match purpose {
                ReadPurpose::Piece {
                    to,
                    position,
                    offset,
                } => self.node_step(Event::ChunkRead {
                    to,
                    position,
                    offset,
                    bytes,
                    is_last,
                }),
                ReadPurpose::Snapshot { from, position } => {
                    let received = bytes.as_ref().map_or(0, bytes::Bytes::len) as u64;
                    let state = bytes.and_then(|bytes| State::decode(&bytes).ok());
                    self.received = state.filter(|state| state.position == position);
                    self.node_step(Event::ChunkWritten {
                        from,
                        position,
                        received,
                        is_damaged: self.received.is_none(),
                    });
                }
            },
            Input::Propose { request, command } => {
                self.node_step(Event::Propose { request, command });
            }
            Input::Change { request, change } => self.node_step(Event::Change { request, change }),
            Input::Read { request } => self.node_step(Event::Read { request }),
            Input::KeepAlive { request, lease } => {
                if self.node.role().is_leader {
                    self.keep_alives.insert(request, lease);
                    self.node_step(Event::Read { request });
                } else {
                    self.refused(request, Refusal::NotLeader);
                }
            }
            Input::Transfer { request, to } => self.node_step(Event::Transfer { request, to }),
        }
    }

    fn tick(&mut self, now: Millis) {
        self.now = self.now.max(now);
        self.ticks += 1;
        self.node_step(Event::Tick);
        for lease in self.expiry.due(self.now) {
            let request = self.own_request();
            self.expiry.revoking(lease, request);
            let command = Command::LeaseRevoke { id: lease };
            self.node_step(Event::Propose { request, command });
        }
        if self.ticks >= self.publish_at
            && !self.is_published()
            && self.node.role().leader.is_some()
        {
            self.publish_at = self.ticks + PUBLISH_TICKS;
            self.publish();
        }
    }

    fn is_published(&self) -> bool {
        let member = self.state.cluster.member(self.options.node.id);
        member.is_none_or(|member| {
            let publication = member.publication.as_ref();
            publication.is_some_and(|known| known.boot >= self.options.node.boot)
        })
    }

    fn publish(&mut self) {
        let request = self.own_request();
        let change = MemberChange::Publish {
            id: self.options.node.id,
            publication: Publication {
                boot: self.options.node.boot,
                seq: 1,
                name: self.options.name.clone(),
                client_urls: self.options.client_urls.clone(),
            },
        };
        self.node_step(Event::Change { request, change });
    }

    fn own_request(&mut self) -> RequestId {
        self.own_requests += 1;
        RequestId(OWN | self.own_requests)
    }

    fn node_step(&mut self, event: Event) {
        let mut effects = VecDeque::from(self.node.step(event));
        while let Some(effect) = effects.pop_front() {
            let event = self.act(effect);
            if let Some(event) = event {
                // Effects of an application come behind those that were wanted before it.
                effects.extend(self.node.step(event));
            }
        }
    }

    /// Acts on an effect; returns an event if it is done at once.
    fn act(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Send(envelope) => self.outputs.push(Output::Send(envelope)),
            Effect::Persist(persist) => self.unwritten.push_back(persist),
            Effect::Apply(committed) => {
                let index = committed.last()?.position.index;
                for committed in committed {
                    self.apply(&committed);
                }
                self.outputs.push(Output::StateChanged);
                return Some(Event::Applied { index });
            }
            Effect::Checkpoint => {
                let index = self.state.position.index;
                let ops = write_state(&self.state, CHECKPOINT_NEW, checkpoint_name(index));
                let cluster = Box::new(self.state.cluster.clone());
                let done = Done::Checkpoint(self.state.position, cluster);
                self.state_lane.push(ops, done);
            }
            Effect::ReadChunk {
                to,
                position,
                offset,
                bytes_max,
            } => self.read_piece(to, position, offset, bytes_max),
            Effect::WriteChunk {
                from,
                position,
                offset,
                bytes,
                is_last,
            } => {
                let name = INCOMING.to_owned();
                let create = FileOp::Create { name: name.clone() };
                let mut ops = Vec::from_iter((offset == 0).then_some(create));
                let received = offset + bytes.len() as u64;
                ops.push(FileOp::Write {
                    name: name.clone(),
                    offset,
                    bytes,
                });
                ops.push(FileOp::Sync { name });
                let done = Done::Piece {
                    from,
                    position,
                    received,
                    is_last,
                };
                self.state_lane.push(ops, done);
            }
            Effect::Release { log, checkpoint } => self.release(log, checkpoint),
            Effect::ReadReady(requests) => {
                for request in requests {
                    self.read_ready(request);
                }
            }
            Effect::Answer(request, Ok(())) => self.outputs.push(Output::Done { request }),
            Effect::Answer(request, Err(refusal)) => self.refused(request, refusal),
            Effect::Role(role) => {
                if !role.is_leader {
                    self.expiry.stop();
                }
                self.outputs.push(Output::Role(role));
            }
            Effect::Stop(reason) => self.outputs.push(Output::Stop(reason)),
        }
        None
    }

    fn apply(&mut self, committed: &Committed) {
        let outcome = self.state.apply(committed, &self.options.node.omissions);
        if let Outcome::Command(applied) = &outcome {
            self.expiry.note(applied.effect, self.now);
        }
        let Role {
            is_leader, term, ..
        } = self.node.role();
        if is_leader && committed.position.term == term {
            self.expiry.start(&self.state.machine, self.now);
        }
        let Some(request) = committed.request else {
            return;
        };
        if request.0 & OWN != 0 {
            self.expiry.answered(request);
            return;
        }
        self.outputs.push(Output::Applied {
            request,
            position: committed.position,
            outcome,
        });
    }

    fn read_ready(&mut self, request: RequestId) {
        match self.keep_alives.remove(&request) {
            None => self.outputs.push(Output::ReadReady { request }),
            Some(lease) => match self.expiry.keep_alive(lease, self.now) {
                Ok(ttl_seconds) => self.outputs.push(Output::KeptAlive {
                    request,
                    ttl_seconds,
                }),
                Err(NoClock) => self.refused(request, Refusal::NotLeader),
            },
        }
    }

    fn refused(&mut self, request: RequestId, refusal: Refusal) {
        self.keep_alives.remove(&request);
        if request.0 & OWN != 0 {
            self.expiry.answered(request);
            return;
        }
        self.outputs.push(Output::Refused { request, refusal });
    }

    fn refuse(&mut self, input: &Input) {
        if let Input::Propose { request, .. }
        | Input::Change { request, .. }
        | Input::Read { request }
        | Input::KeepAlive { request, .. }
        | Input::Transfer { request, .. } = input
        {
            self.refused(*request, Refusal::NoLeader);
        }
    }
}
