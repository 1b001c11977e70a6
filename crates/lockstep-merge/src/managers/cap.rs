//! Limits the number of managedFields entries: the oldest `Update` entries are merged.

use super::{ManagedFields, Operation, Owner};

/// Maximum number of `Update` entries per object before the oldest ones are merged.
pub const UPDATE_ENTRIES_MAX: usize = 10;

/// Manager name of merged entries.
const ANCIENT: &str = "ancient-changes";

impl ManagedFields {
    /// Merges the oldest `Update` entries of each version until at most [`UPDATE_ENTRIES_MAX`] remain.
    pub(super) fn cap_updates(&mut self) {
        let updates = self.entries.iter();
        let updates = updates.filter(|(owner, _)| owner.operation == Operation::Update);
        let mut oldest: Vec<(_, Owner)> = updates
            .map(|(owner, entry)| (entry.time, owner.clone()))
            .collect();
        oldest.sort();
        let mut surplus = oldest.len().saturating_sub(UPDATE_ENTRIES_MAX);
        let mut first_of_version: Vec<(String, Owner)> = Vec::new();
        for (_, owner) in oldest {
            if surplus == 0 {
                return;
            }
            let Some(entry) = self.entries.get(&owner).cloned() else {
                continue;
            };
            let version = entry.api_version.clone();
            let Some((_, first)) = first_of_version.iter().find(|(v, _)| *v == version) else {
                first_of_version.push((version, owner));
                continue;
            };
            let bucket = Owner::new(ANCIENT, Operation::Update, &version, "");
            if !self.entries.contains_key(&bucket)
                && let Some(first) = self.entries.remove(first)
            {
                self.entries.insert(bucket.clone(), first);
            }
            self.entries.remove(&owner);
            if let Some(ancient) = self.entries.get_mut(&bucket) {
                ancient.fields = ancient.fields.union(&entry.fields);
                ancient.time = entry.time;
            }
            surplus -= 1;
        }
    }
}
