//! Members that applied the same index have the same state, whichever way they came to it.

use std::collections::BTreeMap;

use lockstep_mvcc::{MemberId, StateHash};
use lockstep_raftstore::{Position, State};

use super::Broken;

/// States are compared at multiples of this index: states that differ stay different.
const COMPARED_EACH: u64 = 4;

/// Term, and state after it, of each index at which some member stopped to look.
#[derive(Default)]
pub(crate) struct Committed(BTreeMap<u64, (u64, Option<StateHash>)>);

impl Committed {
    pub(crate) fn see(&mut self, member: MemberId, state: &State) -> Result<(), Broken> {
        let Position { index, term } = state.position;
        let is_compared = index.is_multiple_of(COMPARED_EACH);
        let hash = is_compared.then(|| state.hash());
        let known = *self.0.entry(index).or_insert((term, hash));
        if known.0 != term {
            let MemberId(member) = member;
            let text = format!("index {index} has term {term} on {member:x}");
            return Err(format!("{text} and term {} on another member", known.0));
        }
        if known.1 != hash {
            let MemberId(member) = member;
            return Err(format!(
                "the state of {member:x} at index {index} is another one"
            ));
        }
        Ok(())
    }

    /// The term of an index that was applied.
    pub(crate) fn term_at(&self, index: u64) -> Option<u64> {
        self.0.get(&index).map(|(term, _)| *term)
    }
}
