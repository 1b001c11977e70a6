//! Conflicts of server-side apply, in upstream's wording.

use std::collections::BTreeMap;
use std::fmt;

use lockstep_object::go::quote;

use super::{Operation, Owner};
use crate::fields::Set;

/// Most fields that a failed apply names; the rest is counted.
pub const CONFLICTS_SHOWN_MAX: usize = 100;

/// Fields that other managers own with different values, by owner; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Conflicts(Vec<(Owner, Set)>);

/// A conflict as error messages print it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The owner: `"kubectl" using apps/v1`.
    pub owner: String,
    /// The field: `.spec.ports[port=80]`.
    pub field: String,
}

impl Conflicts {
    pub(super) fn of(sets: BTreeMap<Owner, Set>) -> Self {
        Self(sets.into_iter().collect())
    }

    /// Conflicts about other fields than these; none if there are no others.
    pub(super) fn except(self, fields: &Set) -> Option<Self> {
        let rest = self.0.into_iter();
        let rest = rest.map(|(owner, set)| (owner, set.difference(fields)));
        let rest: Vec<_> = rest.filter(|(_, set)| !set.is_empty()).collect();
        (!rest.is_empty()).then_some(Self(rest))
    }

    /// The fields of each owner.
    pub fn fields(&self) -> impl Iterator<Item = &Set> {
        self.0.iter().map(|(_, fields)| fields)
    }

    /// Number of conflicts.
    fn count(&self) -> usize {
        self.fields().map(Set::count).sum()
    }

    /// Number of conflicts that are not shown.
    pub fn more(&self) -> usize {
        self.count().saturating_sub(CONFLICTS_SHOWN_MAX)
    }

    /// The first conflicts, no more than [`CONFLICTS_SHOWN_MAX`].
    pub fn shown(&self) -> Vec<Conflict> {
        let mut shown = Vec::new();
        for (owner, set) in &self.0 {
            let owner = printed(owner);
            let paths = set.first_paths(CONFLICTS_SHOWN_MAX - shown.len());
            shown.extend(paths.into_iter().map(|field| Conflict {
                owner: owner.clone(),
                field,
            }));
        }
        shown
    }

    /// Reports all owners with one API version, as upstream does for built-in kinds.
    #[must_use]
    pub fn reported_in_version(mut self, api_version: &str) -> Self {
        for (owner, _) in &mut self.0 {
            *owner = Owner::new(
                &owner.manager,
                owner.operation,
                api_version,
                &owner.subresource,
            );
        }
        self
    }
}

/// The owner as error messages print it.
fn printed(owner: &Owner) -> String {
    let Owner {
        manager,
        operation,
        subresource,
        ..
    } = owner;
    let mut text = quote(manager);
    if !subresource.is_empty() {
        text = format!("{text} with subresource {}", quote(subresource));
    }
    match (operation, owner.version()) {
        (Operation::Update, Some(version)) => format!("{text} using {version}"),
        _ => text,
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.shown();
        if let [Conflict { owner, field }] = &*shown {
            return write!(
                out,
                "Apply failed with 1 conflict: conflict with {owner}: {field}"
            );
        }
        write!(out, "Apply failed with {} conflicts: ", self.count())?;
        let mut last = None;
        for Conflict { owner, field } in &shown {
            if last != Some(owner) {
                let line = if last.is_some() { "\n" } else { "" };
                write!(out, "{line}conflicts with {owner}:")?;
                last = Some(owner);
            }
            write!(out, "\n- {field}")?;
        }
        match self.more() {
            0 => Ok(()),
            more => write!(out, "\n- {more} more"),
        }
    }
}
