//! The end of a run: agreement, a last write, and the history.

use lockstep_mvcc::{MemberId, Revision};
use lockstep_raftstore::Member;
use lockstep_storage::contract::histories::{self, History};

use super::World;
use crate::Report;
use crate::invariants::{Broken, convergence};

impl World {
    /// Running members of the newest membership.
    fn members(&self) -> impl Iterator<Item = (MemberId, &Member)> {
        let ids = self.cluster.1.members().map(|(id, _)| id);
        ids.filter_map(|id| {
            let process = self.hosts.get(&id)?.process.as_ref()?;
            Some((id, &process.member))
        })
    }

    /// True once all members agree, and those that were removed know it.
    pub(super) fn is_converged(&self) -> bool {
        let all = self.cluster.1.members().len();
        let mut removed = self.hosts.iter();
        let is_gone = |id: &MemberId| self.cluster.1.is_removed(*id);
        self.clients.iter().all(|client| client.asked.is_none())
            && self.members().count() == all
            && removed.all(|(id, host)| !is_gone(id) || host.process.is_none())
            && convergence::is_reached(
                self.members()
                    .map(|(_, member)| (member.state().position, member.node().last())),
            )
    }

    pub(super) fn finish(mut self, end: u64) -> Result<Report, Broken> {
        let last = self.revision();
        while self
            .watchers
            .iter()
            .any(|watcher| watcher.progress() < last)
        {
            convergence::check(self.now < end, || "a watcher waits".to_owned())?;
            self.happen()?;
        }
        for watcher in &mut self.watchers {
            watcher.leave();
        }
        let watches = self.watchers.iter_mut();
        let watches = watches.flat_map(|watcher| std::mem::take(&mut watcher.finished));
        let history = History {
            start: Revision::FIRST,
            end: last,
            watches: watches.collect(),
            requests: std::mem::take(&mut self.recorded),
        };
        let checked = histories::check(&history).map_err(|violations| {
            let violations: Vec<_> = violations.iter().map(ToString::to_string).collect();
            violations.join("\n")
        })?;
        self.report.checked = checked;
        self.report.index = self.cluster_index();
        Ok(self.report)
    }

    /// The members for a report.
    pub(super) fn shown(&self) -> String {
        let hosts = self.hosts.iter().map(|(id, host)| {
            let is_learner = self.cluster.1.member(*id).map(|member| member.is_learner);
            let Some(process) = &host.process else {
                return format!("{:x} is away, learner {is_learner:?}", id.0);
            };
            let (node, state) = (process.member.node(), process.member.state());
            let (role, last) = (node.role(), node.last());
            let is_leader = role.is_leader;
            let (term, index) = (role.term, state.position.index);
            format!(
                "{:x}: term {term}, leader {is_leader}, applied {index}, last {last:?}, learner {is_learner:?}",
                id.0
            )
        });
        hosts.collect::<Vec<_>>().join("\n")
    }

    fn revision(&self) -> Revision {
        let revisions = self
            .members()
            .map(|(_, member)| member.state().machine.revision());
        revisions.max().unwrap_or(Revision::FIRST)
    }

    fn cluster_index(&self) -> u64 {
        let indexes = self
            .members()
            .map(|(_, member)| member.state().position.index);
        indexes.max().unwrap_or_default()
    }
}
