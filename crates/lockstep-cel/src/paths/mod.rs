//! Static analysis of the fields that an expression reads and its result writes.
//!
//! The result is conservative: if a path cannot be followed, the whole value at its start counts as read or written.

mod own;
mod pointer;
mod read;
mod scope;
mod segment;
mod write;

pub use scope::{MutationScope, ScopeStep};
pub use segment::{FieldPath, Segment};

use crate::program::Program;
use std::collections::BTreeSet;
use std::fmt;

/// Reads and writes of one expression.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    /// Paths that are read, including everything below them.
    pub reads: BTreeSet<FieldPath>,
    /// Paths that the resulting object or patch sets.
    pub writes: BTreeSet<Write>,
}

/// One place a mutation sets.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    /// The place; empty is the whole object.
    pub path: Vec<Segment>,
    /// Only a prefix is known: anything below the path may be set.
    pub prefix: bool,
    /// Set on some data only.
    pub conditional: bool,
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        segment::write_segments(f, &self.path)?;
        if self.prefix {
            f.write_str(if self.path.is_empty() { "*" } else { ".*" })?;
        }
        if self.conditional {
            f.write_str(" (conditional)")
        } else {
            Ok(())
        }
    }
}

impl Program {
    /// Paths that this expression reads and writes. An unchecked expression reads and writes everything.
    pub fn paths(&self) -> Paths {
        let Some(mut walker) = read::Walker::of(&self.expression) else {
            let variables = self.expression.env.variables.keys();
            return Paths {
                reads: variables.map(|name| FieldPath::variable(name)).collect(),
                writes: BTreeSet::from([write::anything()]),
            };
        };
        walker.read(self.expression.ast.root());
        let mut paths = Paths {
            reads: walker.reads,
            writes: BTreeSet::new(),
        };
        write::collect(&self.expression, &mut paths);
        paths
    }

    /// Paths tested for presence by `has()`, `.?field` or `[?key]`, which need not exist. Empty for an unchecked
    /// expression.
    pub fn probed_paths(&self) -> BTreeSet<FieldPath> {
        let Some(mut walker) = read::Walker::of(&self.expression) else {
            return BTreeSet::new();
        };
        walker.read(self.expression.ast.root());
        walker.probed
    }
}

#[cfg(test)]
mod tests;
