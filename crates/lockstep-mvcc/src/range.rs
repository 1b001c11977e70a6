//! Range reads at a revision.

use std::sync::Arc;

use crate::index::Record;
use crate::{
    Content, KeyRange, KeyValue, Machine, Range, RangeResponse, ReadError, Revision, Sort,
    SortOrder, SortTarget,
};

/// The revision that a read uses.
#[derive(Clone, Copy)]
enum View {
    Latest,
    At(Revision),
}

impl View {
    fn of(self, record: &Record) -> Option<&Arc<KeyValue>> {
        match self {
            Self::Latest => record.live(),
            Self::At(revision) => record.live_at(revision),
        }
    }
}

impl Machine {
    /// Reads the keys of a range.
    ///
    /// The cost is proportional to the versions visited: with a limit, in key order and without revision bounds,
    /// those returned. Counting visits no versions.
    pub fn range(&self, range: &Range) -> Result<RangeResponse, ReadError> {
        self.check_revision(range.at)?;
        Ok(self.range_checked(range, self.revision))
    }

    /// Fails if a revision cannot be read.
    pub(crate) fn check_revision(&self, at: Option<Revision>) -> Result<(), ReadError> {
        let (compacted, current) = (self.compacted, self.revision);
        match at {
            Some(at) if at > current => Err(ReadError::FutureRevision { current }),
            Some(at) if at < compacted => Err(ReadError::Compacted { compacted }),
            _ => Ok(()),
        }
    }

    /// [`Machine::range`] without the revision check. `revision` is returned in the response.
    pub(crate) fn range_checked(&self, range: &Range, revision: Revision) -> RangeResponse {
        let view = match range.at {
            Some(at) if self.history.is_newer_than(at) => View::At(at),
            _ => View::Latest,
        };
        if let Some(key) = range.keys.as_single() {
            return self.single(key, range, view, revision);
        }
        let count = self.count(&range.keys, view);
        let mut response = RangeResponse {
            revision,
            count,
            ..RangeResponse::default()
        };
        if range.content != Content::CountOnly {
            self.collect(range, view, &mut response);
        }
        response
    }

    /// Fast path for single keys, the most common read: one lookup and no sorting.
    fn single(&self, key: &[u8], range: &Range, view: View, revision: Revision) -> RangeResponse {
        let found = self.index.get(key).and_then(|record| view.of(record));
        let shown = found.filter(|kv| range.content != Content::CountOnly && is_within(range, kv));
        RangeResponse {
            revision,
            count: usize::from(found.is_some()),
            kvs: shown.map_or_else(Vec::new, |kv| vec![content_of(kv, range.content)]),
            more: false,
        }
    }

    fn count(&self, keys: &KeyRange, view: View) -> usize {
        let View::At(at) = view else {
            return self.index.count_live(keys);
        };
        if self.history.since(at.next()).len() > self.index.span(keys) {
            let records = self.index.range(keys);
            return records.filter_map(|record| view.of(record)).count();
        }
        let growth = self.history.growth_since(at, keys);
        self.index.count_live(keys).saturating_add_signed(-growth)
    }

    fn collect(&self, range: &Range, view: View, response: &mut RangeResponse) {
        let limit = match range.limit {
            0 => usize::MAX,
            limit => limit,
        };
        let records = self.index.range(&range.keys);
        let kvs = match range.sort {
            None => page(records, range, view, limit, response.count),
            Some(Sort { target, order }) => match (target, order) {
                (SortTarget::Key, SortOrder::Ascend) => {
                    page(records, range, view, limit, response.count)
                }
                (SortTarget::Key, SortOrder::Descend) => {
                    page(records.rev(), range, view, limit, response.count)
                }
                _ => sorted(records, range, view, target, order),
            },
        };
        response.kvs = kvs;
        response.more = response.kvs.len() > limit;
        response.kvs.truncate(limit);
        if range.content == Content::KeysOnly {
            for kv in &mut response.kvs {
                *kv = content_of(kv, range.content);
            }
        }
    }
}

fn seen<'a>(
    records: impl Iterator<Item = &'a Record>,
    range: &Range,
    view: View,
) -> impl Iterator<Item = &'a Arc<KeyValue>> {
    let pairs = records.filter_map(move |record| view.of(record));
    pairs.filter(|kv| is_within(range, kv))
}

/// True if a version is within the revision bounds of the request.
fn is_within(range: &Range, kv: &KeyValue) -> bool {
    range.mod_revisions.contain(kv.mod_revision)
        && range.create_revisions.contain(kv.create_revision)
}

/// Applies keys-only and count-only.
fn content_of(kv: &Arc<KeyValue>, content: Content) -> Arc<KeyValue> {
    match content {
        Content::KeysOnly => Arc::new(kv.without_value()),
        Content::Full | Content::CountOnly => kv.clone(),
    }
}

/// The first versions up to the limit, plus one if there are more.
fn page<'a>(
    records: impl Iterator<Item = &'a Record>,
    range: &Range,
    view: View,
    limit: usize,
    count: usize,
) -> Vec<Arc<KeyValue>> {
    let wanted = limit.saturating_add(1).min(count);
    let mut kvs = Vec::with_capacity(wanted);
    kvs.extend(seen(records, range, view).take(wanted).cloned());
    kvs
}

fn sorted<'a>(
    records: impl Iterator<Item = &'a Record>,
    range: &Range,
    view: View,
    target: SortTarget,
    order: SortOrder,
) -> Vec<Arc<KeyValue>> {
    let mut kvs: Vec<_> = seen(records, range, view).cloned().collect();
    kvs.sort_by(|left, right| {
        let ordering = match target {
            SortTarget::Key => left.key.cmp(&right.key),
            SortTarget::Version => left.version.cmp(&right.version),
            SortTarget::CreateRevision => left.create_revision.cmp(&right.create_revision),
            SortTarget::ModRevision => left.mod_revision.cmp(&right.mod_revision),
            SortTarget::Value => left.value.cmp(&right.value),
        };
        match order {
            SortOrder::Ascend => ordering,
            SortOrder::Descend => ordering.reverse(),
        }
    });
    kvs
}
