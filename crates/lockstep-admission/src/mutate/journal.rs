//! Writers of an object during one request, in order.

use std::collections::BTreeSet;

use lockstep_cel::paths::Segment;

use crate::diff::overlap;
use crate::outcome::Writer;

/// Changed paths.
pub(super) type Paths = BTreeSet<Vec<Segment>>;

/// All changes of the object, oldest first.
#[derive(Debug, Default)]
pub(super) struct Journal {
    entries: Vec<(Writer, Paths)>,
}

impl Journal {
    /// Number of changes so far.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn add(&mut self, writer: Writer, paths: Paths) {
        if !paths.is_empty() {
            self.entries.push((writer, paths));
        }
    }

    /// The last writer of a path, or of a path above or below it.
    pub(super) fn last_writer(&self, path: &[Segment]) -> Option<&Writer> {
        let mut entries = self.entries.iter().rev();
        let found = entries.find(|(_, paths)| paths.iter().any(|written| overlap(written, path)));
        found.map(|(writer, _)| writer)
    }

    /// True if another writer changed one of these paths after the first `since` changes.
    pub(super) fn is_affected(&self, own: &Writer, since: usize, paths: &Paths) -> bool {
        let later = self.entries.iter().skip(since);
        let mut others = later.filter(|(writer, _)| writer != own);
        others.any(|(_, written)| {
            written
                .iter()
                .any(|written| paths.iter().any(|path| overlap(written, path)))
        })
    }

    /// True if another writer changed anything after the first `since` changes.
    pub(super) fn has_others_since(&self, own: &Writer, since: usize) -> bool {
        self.entries
            .iter()
            .skip(since)
            .any(|(writer, _)| writer != own)
    }
}
