//! Once every fault has ended, all members agree on everything, and clients are served.

use lockstep_raftstore::Position;

use super::Broken;

/// Virtual milliseconds that a healed cluster may take.
pub(crate) const HEAL_MILLIS_MAX: u64 = 120_000;

/// True if all members have applied the same entry, which is the last of their logs.
pub(crate) fn is_reached(members: impl Iterator<Item = (Position, Position)>) -> bool {
    let mut first = None;
    for (applied, last) in members {
        if applied.index != last.index || *first.get_or_insert(applied) != applied {
            return false;
        }
    }
    first.is_some()
}

pub(crate) fn check(is_reached: bool, what: impl FnOnce() -> String) -> Result<(), Broken> {
    if is_reached {
        return Ok(());
    }
    let what = what();
    Err(format!(
        "{what} {HEAL_MILLIS_MAX} ms after everything healed"
    ))
}
