//! At most one member leads in a term.

use std::collections::BTreeMap;

use lockstep_mvcc::MemberId;
use lockstep_raftstore::Role;

use super::Broken;

/// The leaders that were seen.
#[derive(Default)]
pub(crate) struct Leaders(BTreeMap<u64, MemberId>);

impl Leaders {
    pub(crate) fn see(&mut self, member: MemberId, role: Role) -> Result<(), Broken> {
        if !role.is_leader {
            return Ok(());
        }
        let known = *self.0.entry(role.term).or_insert(member);
        if known != member {
            let MemberId(known) = known;
            let text = "lead in the same term";
            return Err(format!("{known:x} and {:x} {text} {}", member.0, role.term));
        }
        Ok(())
    }
}
