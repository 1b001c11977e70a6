//! Comparison of two values of a type.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::TypeErrors;
use crate::fields::{Element, Node, Set, equal};
use crate::types::{Fields, Form, List, Type};

/// Field sets that differ between two values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Paths that exist only in the old value.
    pub removed: Set,
    /// Paths whose values differ.
    pub modified: Set,
    /// Paths that exist only in the new value.
    pub added: Set,
}

impl Comparison {
    /// True if the values are equal.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.modified.is_empty() && self.added.is_empty()
    }

    /// Paths with a new or different value.
    pub fn changed(&self) -> Set {
        self.modified.union(&self.added)
    }

    /// Maps each of the three sets.
    #[must_use]
    pub fn map(&self, change: impl Fn(&Set) -> Set) -> Self {
        Self {
            removed: change(&self.removed),
            modified: change(&self.modified),
            added: change(&self.added),
        }
    }
}

type Entries = Map<String, Value>;

/// Differences at and below one path; the node form of [`Comparison`].
#[derive(Default)]
struct Changes {
    removed: Node,
    modified: Node,
    added: Node,
}

/// Depth down to which equal values are skipped early. Deeper levels are not checked: each check walks the whole
/// subtree, so checking at every level would be quadratic.
const SAME_LEVELS: usize = 4;

/// Granularity of a comparison: an atomic value or its members.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Grain {
    Whole,
    Parts,
}

impl Type<'_> {
    /// Compares two values of the type.
    pub fn compare(self, old: &Value, new: &Value) -> Result<Comparison, TypeErrors> {
        let changes = self.changes(Some(old), Some(new), 0)?;
        Ok(Comparison {
            removed: changes.removed.below,
            modified: changes.modified.below,
            added: changes.added.below,
        })
    }

    fn changes(
        self,
        old: Option<&Value>,
        new: Option<&Value>,
        level: usize,
    ) -> Result<Changes, TypeErrors> {
        let mut changes = Changes::default();
        if level < SAME_LEVELS && old.is_some() && old == new {
            return Ok(changes);
        }
        let level = level + 1;
        let (before, after) = (self.form(old), self.form(new));
        let is_same_form = std::mem::discriminant(&before) == std::mem::discriminant(&after);
        let grain = match (old, new) {
            (_, None) => self.changes_of(before, old, new, level, &mut changes)?,
            (None, _) => self.changes_of(after, old, new, level, &mut changes)?,
            _ if is_same_form => self.changes_of(after, old, new, level, &mut changes)?,
            _ => {
                self.changes_of(before, old, new, level, &mut changes)?;
                self.changes_of(after, old, new, level, &mut changes)?
            }
        };
        match (old, new) {
            (None, _) if grain == Grain::Parts => changes.added.is_member = true,
            (_, None) if grain == Grain::Parts => changes.removed.is_member = true,
            _ => {}
        }
        Ok(changes)
    }

    fn changes_of(
        self,
        form: Form<'_>,
        old: Option<&Value>,
        new: Option<&Value>,
        level: usize,
        changes: &mut Changes,
    ) -> Result<Grain, TypeErrors> {
        match form {
            Form::Map(fields) => {
                let (before, after) = (entries(old), entries(new));
                let is_empty = before.is_none_or(Map::is_empty) && after.is_none_or(Map::is_empty);
                if !fields.is_atomic && !is_empty {
                    self.changes_of_map(fields, (before, after), level, changes)?;
                    return Ok(Grain::Parts);
                }
            }
            Form::List(list) => {
                let (before, after) = (items(old), items(new));
                let is_empty = before.is_empty() && after.is_empty();
                if !list.is_atomic() && !is_empty {
                    self.changes_of_list(list, (before, after), level, changes)?;
                    return Ok(Grain::Parts);
                }
            }
            Form::Scalar(_) => {}
        }
        match (old, new) {
            (None, _) => changes.added.is_member = true,
            (_, None) => changes.removed.is_member = true,
            (Some(old), Some(new)) => changes.modified.is_member |= !equal(old, new),
        }
        Ok(Grain::Whole)
    }

    fn changes_of_map(
        self,
        fields: &Fields,
        (old, new): (Option<&Entries>, Option<&Entries>),
        level: usize,
        changes: &mut Changes,
    ) -> Result<(), TypeErrors> {
        let mut compare = |name: &str, before: Option<&Value>, after: Option<&Value>| {
            let below = self
                .field_or_anything(fields, name)
                .changes(before, after, level);
            let element = Element::field(name);
            changes.attach(&element, below.map_err(|errors| errors.below(&element))?);
            Ok(())
        };
        for (name, before) in old.into_iter().flatten() {
            compare(name, Some(before), new.and_then(|new| new.get(name)))?;
        }
        let is_new = |name: &String| old.is_none_or(|old| !old.contains_key(name));
        for (name, after) in new.into_iter().flatten().filter(|(name, _)| is_new(name)) {
            compare(name, None, Some(after))?;
        }
        Ok(())
    }

    fn changes_of_list(
        self,
        list: &List,
        (old, new): (&[Value], &[Value]),
        level: usize,
        changes: &mut Changes,
    ) -> Result<(), TypeErrors> {
        let mut all: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for (element, item) in list.elements(old)? {
            all.entry(element).or_default().0.push(item);
        }
        for (element, item) in list.elements(new)? {
            all.entry(element).or_default().1.push(item);
        }
        for (element, (old, new)) in all {
            let below = self.changes_of_items(list, &old, &new, level);
            changes.attach(&element, below.map_err(|errors| errors.below(&element))?);
        }
        Ok(())
    }

    /// Compares the items with one identity: at most one on each side, unless a stored list has duplicates.
    fn changes_of_items(
        self,
        list: &List,
        old: &[&Value],
        new: &[&Value],
        level: usize,
    ) -> Result<Changes, TypeErrors> {
        let items = self.items(list);
        match (old, new) {
            ([_, _, ..], [_, _, ..]) => {
                let mut changes = Changes::default();
                let pairs = old.iter().zip(new);
                let same = pairs.filter(|(old, new)| equal(old, new)).count();
                changes.modified.is_member = old.len() != new.len() || same != old.len();
                Ok(changes)
            }
            ([_, _, ..], _) => {
                let mut changes = match new.first() {
                    Some(new) => items.changes(None, Some(new), level)?,
                    None => Changes::default(),
                };
                changes.removed.is_member = true;
                Ok(changes)
            }
            (_, [_, _, ..]) => {
                let mut changes = match old.first() {
                    Some(old) => items.changes(Some(old), None, level)?,
                    None => Changes::default(),
                };
                changes.added.is_member = true;
                Ok(changes)
            }
            _ => items.changes(old.first().copied(), new.first().copied(), level),
        }
    }
}

impl Changes {
    fn attach(&mut self, element: &Element, below: Self) {
        let attach = |node: &mut Node, below: Node| {
            if !below.is_empty() {
                node.below.attach(element.clone(), below);
            }
        };
        attach(&mut self.removed, below.removed);
        attach(&mut self.modified, below.modified);
        attach(&mut self.added, below.added);
    }
}

fn entries(value: Option<&Value>) -> Option<&Entries> {
    value.and_then(Value::as_object)
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
