//! Conflicts of server-side apply, in upstream's wording.

use std::collections::BTreeMap;
use std::fmt;

use lockstep_object::go::quote;

use super::{Operation, Owner};
use crate::fields::{Element, Set};

/// A field that another manager owns with a different value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The manager that owns the field.
    pub owner: Owner,
    /// Path of the field.
    pub path: Vec<Element>,
}

/// All conflicts of an apply, grouped by owner; never empty.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    pub(super) fn of(sets: &BTreeMap<Owner, Set>) -> Self {
        let conflicts = sets.iter().flat_map(|(owner, set)| {
            let paths = set.paths().into_iter();
            paths.map(|path| Conflict {
                owner: owner.clone(),
                path,
            })
        });
        Self(conflicts.collect())
    }

    /// Reports all owners with one API version, as upstream does for built-in kinds.
    #[must_use]
    pub fn reported_in_version(mut self, api_version: &str) -> Self {
        for Conflict { owner, .. } in &mut self.0 {
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

impl Conflict {
    /// The field as error messages print it: `.spec.ports[port=80]`.
    pub fn field(&self) -> String {
        self.path.iter().map(Element::to_string).collect()
    }

    /// The owner as error messages print it: `"kubectl" using apps/v1`.
    pub fn owner(&self) -> String {
        let Owner {
            manager,
            operation,
            subresource,
            ..
        } = &self.owner;
        let mut text = quote(manager);
        if !subresource.is_empty() {
            text = format!("{text} with subresource {}", quote(subresource));
        }
        match (operation, self.owner.version()) {
            (Operation::Update, Some(version)) => format!("{text} using {version}"),
            _ => text,
        }
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = &*self.0 {
            let (owner, field) = (only.owner(), only.field());
            return write!(
                out,
                "Apply failed with 1 conflict: conflict with {owner}: {field}"
            );
        }
        write!(out, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last: Option<&Owner> = None;
        for conflict in &self.0 {
            if last != Some(&conflict.owner) {
                let line = if last.is_some() { "\n" } else { "" };
                write!(out, "{line}conflicts with {}:", conflict.owner())?;
                last = Some(&conflict.owner);
            }
            write!(out, "\n- {}", conflict.field())?;
        }
        Ok(())
    }
}
