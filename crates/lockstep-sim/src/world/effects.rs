//! Outputs of members: messages, file operations, answers.

use lockstep_mvcc::{Machine, MemberId, Restore};
use lockstep_raftstore::peer::Body;
use lockstep_raftstore::{
    Contents, Envelope, FileOp, First, Input, Output, Position, ReadPurpose, RequestId, State,
    StopReason,
};
use lockstep_storage::contract::histories::Outcome;

use super::{Happening, World};
use crate::clients::{self, Asked};
use crate::invariants::Broken;
use crate::planted::Bug;

/// Number of the message that appends entries, as the library counts them.
const APPEND: i32 = 3;
/// Number of the message that asks for a vote.
const VOTE_REQUEST: i32 = 5;
/// Number of its answer.
const VOTE: i32 = 6;
/// Ticks for which a planted bug trusts a confirmation.
const TRUSTED_TICKS: u64 = 10;

impl World {
    pub(super) fn act(&mut self, member: MemberId, outputs: Vec<Output>) -> Result<(), Broken> {
        for output in outputs {
            self.act_on(member, output)?;
        }
        Ok(())
    }

    fn act_on(&mut self, member: MemberId, output: Output) -> Result<(), Broken> {
        match output {
            Output::Send(envelope) => self.send(member, &envelope),
            Output::Files { job, ops } => return self.files(member, job, ops),
            Output::ReadFile {
                name,
                offset,
                bytes_max,
                purpose,
            } => {
                let Some(process) = self.process(member) else {
                    return Ok(());
                };
                let at = (member, process.life);
                let read = Happening::ReadFile {
                    at,
                    name,
                    offset,
                    bytes_max,
                    purpose,
                };
                self.schedule(1, read);
            }
            Output::Applied {
                request, outcome, ..
            } => self.answer(member, request, clients::applied(outcome)),
            Output::ReadReady { request } => {
                if let Some(process) = self.process(member) {
                    process.trusted_ticks = TRUSTED_TICKS;
                }
                self.read(member, request);
            }
            Output::KeptAlive { request, .. } | Output::Done { request } => {
                self.answer(member, request, Outcome::Done);
            }
            Output::Refused { request, refusal } => {
                let outcome = if refusal.is_uncertain() {
                    Outcome::Uncertain
                } else {
                    Outcome::Refused
                };
                self.answer(member, request, outcome);
            }
            Output::Role(role) => {
                if role.is_leader {
                    self.report.elections += 1;
                }
                self.leaders.see(member, role)?;
            }
            Output::StateChanged => self.see_state(member)?,
            Output::Installed => self.report.snapshots += 1,
            Output::Stop(reason) if reason != StopReason::Removed => {
                return Err(format!("{:x} stops: {reason}", member.0));
            }
            Output::Stop(_) => {
                self.end(member);
                if let Some(host) = self.hosts.get_mut(&member) {
                    host.is_removed = true;
                }
            }
        }
        Ok(())
    }

    fn send(&mut self, member: MemberId, envelope: &Envelope) {
        let to = MemberId(envelope.to);
        let mut slowness = 0;
        if self.network.is_contested
            && let Some(Body::Raft(message)) = &envelope.body
        {
            if message.kind == VOTE_REQUEST {
                slowness = self.rng.below(400);
            }
            if message.kind == VOTE && !message.reject && self.rng.one_in(2) {
                self.schedule(0, Happening::Kill(member));
            }
        }
        for delay in self.network.deliveries(&mut self.rng, member, to) {
            let envelope = Box::new(envelope.clone());
            self.schedule(slowness + delay, Happening::Deliver(to, envelope));
        }
    }

    pub(super) fn deliver(
        &mut self,
        member: MemberId,
        mut envelope: Envelope,
    ) -> Result<(), Broken> {
        let skips = self.has(Bug::SkipTermCheck);
        if let (true, Some(Body::Raft(message))) = (skips, &mut envelope.body)
            && message.kind == APPEND
            && let Some(process) = self.process(member)
            && let Some(term) = process.member.node().term_at(message.index)
        {
            message.log_term = term;
        }
        self.step(member, Input::Message(envelope))
    }

    fn files(&mut self, member: MemberId, job: u64, mut ops: Vec<FileOp>) -> Result<(), Broken> {
        if self.has(Bug::NamesNotSynced) {
            ops.retain(|op| *op != FileOp::SyncNames);
        }
        if self.has(Bug::SnapshotWithoutLeases) {
            drop_leases(&mut ops);
        }
        let writes_log = ops.iter().all(|op| match op {
            FileOp::Write { name, .. } | FileOp::Sync { name } => name.starts_with("raft-"),
            _ => false,
        });
        let Some(jobs) = self.jobs(member) else {
            return Ok(());
        };
        jobs.insert(job, ops.into());
        self.schedule_op(member, job);
        if writes_log && self.has(Bug::AnswerBeforeFsync) {
            return self.step(member, Input::FilesDone { job });
        }
        Ok(())
    }

    fn schedule_op(&mut self, member: MemberId, job: u64) {
        let Some(host) = self.hosts.get(&member) else {
            return;
        };
        let Some(process) = &host.process else {
            return;
        };
        let (life, slowest) = (process.life, host.disk_millis);
        let delay = self.rng.below(slowest + 1);
        self.schedule(delay, Happening::FileOp(member, life, job));
    }

    pub(super) fn file_op(
        &mut self,
        member: MemberId,
        life: usize,
        job: u64,
    ) -> Result<(), Broken> {
        let op = self
            .jobs(member)
            .and_then(|jobs| jobs.get_mut(&job)?.pop_front());
        if let (Some(op), Some(host)) = (&op, self.hosts.get_mut(&member)) {
            host.disk.perform(op);
        }
        // A process may end at every step.
        if self.is_faulty && self.rng.one_in(400) {
            self.crash(member, life);
            return Ok(());
        }
        if op.is_some() {
            self.schedule_op(member, job);
            return Ok(());
        }
        if let Some(jobs) = self.jobs(member) {
            jobs.remove(&job);
        }
        self.step(member, Input::FilesDone { job })
    }

    pub(super) fn read_file(
        &mut self,
        member: MemberId,
        name: &str,
        offset: u64,
        bytes_max: usize,
        purpose: ReadPurpose,
    ) -> Result<(), Broken> {
        let host = self.hosts.get(&member);
        let content = host.and_then(|host| host.disk.read(name));
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let length = content.as_ref().map_or(0, bytes::Bytes::len);
        let end = start.saturating_add(bytes_max).min(length);
        let bytes = content.map(|content| content.slice(start.min(end)..end));
        let input = Input::FileRead {
            purpose,
            bytes,
            is_last: end == length,
        };
        self.step(member, input)
    }

    fn answer(&mut self, member: MemberId, request: RequestId, outcome: Outcome) {
        let Some(process) = self.process(member) else {
            return;
        };
        match process.asked.remove(&request) {
            Some(Asked::Client(client)) => self.finish_request(client, outcome),
            Some(Asked::Other) | None => {}
        }
    }

    /// Looks at a state that has changed.
    fn see_state(&mut self, member: MemberId) -> Result<(), Broken> {
        let Some(process) = self
            .hosts
            .get(&member)
            .and_then(|host| host.process.as_ref())
        else {
            return Ok(());
        };
        let state = process.member.state();
        self.committed.see(member, state)?;
        self.membership.see(state.position.index, &state.cluster)?;
        let life = process.life;
        let logical = &mut self.logical;
        let mut left = Vec::new();
        for (nth, watcher) in self.watchers.iter_mut().enumerate() {
            if watcher.follows(member, life) {
                watcher.read(&state.machine, || {
                    *logical += 1;
                    *logical
                });
                if watcher.is_free() {
                    left.push(nth);
                }
            }
        }
        let mut added = Vec::new();
        if state.position.index > self.cluster.0 {
            let members = state.cluster.members().map(|(id, _)| id);
            added = members.filter(|id| !self.hosts.contains_key(id)).collect();
            if !state.cluster.voters().eq(self.cluster.1.voters()) {
                self.report.changes += 1;
            }
            self.cluster = (state.position.index, state.cluster.clone());
        }
        for id in added {
            self.add_host(id, First::Joiner);
        }
        for watcher in left {
            let delay = 1 + self.rng.below(50);
            self.schedule(delay, Happening::Watcher(watcher));
        }
        Ok(())
    }

    /// Bugs that show at a restart.
    pub(super) fn plant_at_start(&mut self, contents: &mut Contents) {
        if self.has(Bug::ForgetVote) {
            contents.hard_state().vote = 0;
        }
        if self.has(Bug::ForgetTerm) && contents.hard_state().term > 1 {
            contents.hard_state().term -= 1;
            contents.hard_state().vote = 0;
        }
        if self.has(Bug::ApplyTwiceAfterRestart) {
            let index = contents.state().position.index;
            let earlier = (contents.base().index.max(1)..index).rev().take(5).last();
            let earlier = earlier.and_then(|index| {
                let term = self.committed.term_at(index)?;
                Some(Position { index, term })
            });
            if let Some(earlier) = earlier {
                contents.state().position = earlier;
            }
        }
    }
}

/// Replaces the content of a checkpoint by one without leases.
fn drop_leases(ops: &mut Vec<FileOp>) {
    let mut whole = Vec::new();
    for op in &*ops {
        if let FileOp::Write { name, bytes, .. } = op
            && name == "checkpoint.new"
        {
            whole.extend_from_slice(bytes);
        }
    }
    let Ok(mut state) = State::decode(&whole) else {
        return;
    };
    state.machine = without_leases(&state.machine).expect("the versions are in order");
    let bytes = state.encode().into();
    ops.retain(|op| !matches!(op, FileOp::Write { name, .. } if name == "checkpoint.new"));
    let write = FileOp::Write {
        name: "checkpoint.new".to_owned(),
        offset: 0,
        bytes,
    };
    ops.insert(1, write);
}

fn without_leases(machine: &Machine) -> Result<Machine, &'static str> {
    let mut restore = Restore::begin(machine.revision(), machine.compacted())?;
    for kv in machine.retained_versions() {
        let kv = (**kv).clone();
        if kv.mod_revision < machine.compacted() {
            restore.retained(kv)?;
        } else {
            restore.change(kv)?;
        }
    }
    Ok(restore.finish())
}
