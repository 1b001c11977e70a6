//! Proposals of this member that wait for their entry.

use std::collections::BTreeMap;

use lockstep_mvcc::MemberId;

use super::events::RequestId;
use crate::entry::ProposalId;

/// Proposals of one process start, by their numbers.
pub(super) struct Proposals {
    member: MemberId,
    boot: u64,
    last: u64,
    /// Requests with the ticks at which they are given up.
    waiting: BTreeMap<u64, (RequestId, u64)>,
}

impl Proposals {
    pub(super) fn new(member: MemberId, boot: u64) -> Self {
        Self {
            member,
            boot,
            last: 0,
            waiting: BTreeMap::new(),
        }
    }

    /// The id of the next proposal.
    pub(super) fn next_id(&mut self) -> ProposalId {
        self.last += 1;
        ProposalId {
            member: self.member,
            boot: self.boot,
            seq: self.last,
        }
    }

    pub(super) fn wait(&mut self, id: ProposalId, request: RequestId, deadline: u64) {
        self.waiting.insert(id.seq, (request, deadline));
    }

    /// The request that an entry answers.
    pub(super) fn answer(&mut self, id: ProposalId) -> Option<RequestId> {
        if (id.member, id.boot) != (self.member, self.boot) {
            return None;
        }
        let (request, _) = self.waiting.remove(&id.seq)?;
        Some(request)
    }

    /// Removes the requests whose time is over. Deadlines grow with the numbers.
    pub(super) fn expire(&mut self, now: u64) -> Vec<RequestId> {
        let mut expired = Vec::new();
        while let Some(first) = self.waiting.first_entry()
            && first.get().1 <= now
        {
            expired.push(first.remove().0);
        }
        expired
    }

    pub(super) fn drain(&mut self) -> Vec<RequestId> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_values().map(|(request, _)| request).collect()
    }
}
