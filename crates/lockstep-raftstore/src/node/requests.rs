//! Requests of clients and operators: what is proposed, and what is refused before.

use lockstep_mvcc::{Command, MemberId};
use raft::prelude::ConfChange;

use super::events::{Effect, Event, Refusal, RequestId};
use super::{Node, change_type};
use crate::cluster::{ClusterError, MemberChange};
use crate::entry::{encode_change, encode_command};

impl Node {
    pub(super) fn propose(&mut self, request: RequestId, command: &Command) {
        if self.is_overloaded() {
            return self.answer(request, Err(Refusal::TooManyRequests));
        }
        let id = self.proposals.next_id();
        let data = encode_command(id, command).to_vec();
        // The library drops a proposal only if there is no leader, or too much is not committed yet.
        if self.raft.propose(Vec::new(), data).is_err() {
            return self.answer(request, Err(Refusal::NoLeader));
        }
        self.proposals.wait(id, request, self.deadline());
    }

    /// Proposes a change of the membership. One that alters the configuration has to be asked for at the leader, which
    /// alone knows who is active.
    pub(super) fn change(&mut self, request: RequestId, change: &MemberChange) {
        if change.is_configuration() {
            if let Err(refusal) = self.allow_configuration(change) {
                self.answer(request, Err(refusal));
                return self.make_way(change);
            }
        } else if let Err(error) = self.cluster.clone().apply(0, change) {
            return self.answer(request, Err(Refusal::Cluster(error)));
        }
        let id = self.proposals.next_id();
        let data = encode_change(id, change.clone());
        let proposed = if change.is_configuration() {
            let mut configuration = ConfChange::default();
            configuration.set_change_type(change_type(change));
            configuration.node_id = change.id().0;
            configuration.context = data;
            self.raft.propose_conf_change(Vec::new(), configuration)
        } else {
            self.raft.propose(Vec::new(), data.to_vec())
        };
        if proposed.is_err() {
            return self.answer(request, Err(Refusal::NoLeader));
        }
        self.proposals.wait(id, request, self.deadline());
    }

    /// A leader is not removed by itself but by the next leader: it hands over first, and the request is asked there
    /// again.
    fn make_way(&mut self, change: &MemberChange) {
        if *change
            != (MemberChange::Remove {
                id: self.options.id,
            })
            || !self.role.is_leader
        {
            return;
        }
        let raft = &self.raft.raft;
        let others = self.cluster.voters().filter(|id| *id != self.options.id);
        let progress = others.filter_map(|id| Some((raft.prs().get(id.0)?.matched, id)));
        if let Some((_, MemberId(newest))) = progress.max() {
            self.raft.transfer_leader(newest);
        }
    }

    fn allow_configuration(&self, change: &MemberChange) -> Result<(), Refusal> {
        if !self.role.is_leader {
            return Err(Refusal::NotLeader);
        }
        let raft = &self.raft.raft;
        // Also until an entry of this term is committed: two leaders must not change the members side by side.
        if raft.has_pending_conf() || !raft.commit_to_current_term() {
            return Err(Refusal::ChangePending);
        }
        let is_active = |id: MemberId| {
            let progress = raft.prs().get(id.0);
            id == self.options.id || progress.is_some_and(|progress| progress.recent_active)
        };
        if let MemberChange::Remove { id } = change
            && *id == self.options.id
        {
            return Err(Refusal::NotLeader);
        }
        let mut cluster = self.cluster.clone();
        if self.options.omissions.has(super::Omission::RemovedIds) {
            cluster.forget_removed(change);
        }
        let checked = cluster.check(change, self.options.limits, is_active);
        checked.map_err(Refusal::Cluster)?;
        if let MemberChange::Promote { id } = change {
            let matched = |id: MemberId| raft.prs().get(id.0).map_or(0, |of| of.matched);
            if matched(*id) * 10 < matched(self.options.id) * 9 {
                return Err(Refusal::Cluster(ClusterError::LearnerNotReady));
            }
        }
        Ok(())
    }

    pub(super) fn transfer(&mut self, request: RequestId, to: MemberId) {
        if !self.role.is_leader {
            return self.answer(request, Err(Refusal::NotLeader));
        }
        if to == self.options.id {
            return self.answer(request, Ok(()));
        }
        let member = self.cluster.member(to).filter(|member| !member.is_learner);
        let progress = self.raft.raft.prs().get(to.0);
        // A voter that does not know yet that it is one would refuse, and reads stop meanwhile.
        let knows = member
            .zip(progress)
            .is_some_and(|(member, progress)| progress.matched >= member.since);
        if !knows || self.transfer.is_some() {
            return self.answer(request, Err(Refusal::BadTransferee));
        }
        self.transfer = Some((request, to, self.deadline()));
        self.raft.transfer_leader(to.0);
    }

    fn is_overloaded(&self) -> bool {
        let lag = self.committed().saturating_sub(self.applied);
        lag > self.options.apply_lag_max
    }

    pub(super) fn answer(&mut self, request: RequestId, answer: Result<(), Refusal>) {
        self.effects.push(Effect::Answer(request, answer));
    }

    /// Answers the requests of a member that has stopped.
    pub(super) fn refuse(&mut self, event: &Event) {
        if let Event::Propose { request, .. }
        | Event::Change { request, .. }
        | Event::Read { request }
        | Event::Transfer { request, .. } = event
        {
            // It was not proposed.
            self.answer(*request, Err(Refusal::NoLeader));
        }
    }
}
