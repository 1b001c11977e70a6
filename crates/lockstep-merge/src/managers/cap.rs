//! Objects that many have changed: the oldest claims become one.

use super::{Managed, Operation, Owner};

/// How many claims of those who changed fields an object keeps apart.
pub const UPDATE_CLAIMS_MAX: usize = 10;

/// Who owns what the oldest claims were.
const ANCIENT: &str = "ancient-changes";

impl Managed {
    /// Makes one claim a version of the oldest ones, until there are no more than [`UPDATE_CLAIMS_MAX`].
    pub(super) fn cap_updates(&mut self) {
        let updates = self.claims.iter();
        let updates = updates.filter(|(owner, _)| owner.operation == Operation::Update);
        let mut oldest: Vec<(_, Owner)> = updates
            .map(|(owner, claim)| (claim.time, owner.clone()))
            .collect();
        oldest.sort();
        let mut surplus = oldest.len().saturating_sub(UPDATE_CLAIMS_MAX);
        let mut first_of_version: Vec<(String, Owner)> = Vec::new();
        for (_, owner) in oldest {
            if surplus == 0 {
                return;
            }
            let Some(claim) = self.claims.get(&owner).cloned() else {
                continue;
            };
            let version = claim.api_version.clone();
            let Some((_, first)) = first_of_version.iter().find(|(v, _)| *v == version) else {
                first_of_version.push((version, owner));
                continue;
            };
            let bucket = Owner::new(ANCIENT, Operation::Update, &version, "");
            if !self.claims.contains_key(&bucket)
                && let Some(first) = self.claims.remove(first)
            {
                self.claims.insert(bucket.clone(), first);
            }
            self.claims.remove(&owner);
            if let Some(ancient) = self.claims.get_mut(&bucket) {
                ancient.fields = ancient.fields.union(&claim.fields);
                ancient.time = claim.time;
            }
            surplus -= 1;
        }
    }
}
