//! Pagination of lists.

use bytes::{BufMut, BytesMut};
use lockstep_mvcc::{Range, RangeResponse, Revision};

/// Request for the page after `page`, the response to `range`; `None` if `page` is the last.
///
/// The list must be in key order. `first_page` is the revision of the first page's response: all pages read that
/// state. The count of a later page starts at that page's first key.
pub fn next_page(range: &Range, page: &RangeResponse, first_page: Revision) -> Option<Range> {
    let last = page.kvs.last().filter(|_| page.more)?;
    let mut start = BytesMut::with_capacity(last.key.len() + 1);
    start.put_slice(&last.key);
    start.put_u8(0);
    Some(Range {
        keys: range.keys.starting_at(start.freeze()),
        at: Some(first_page),
        ..range.clone()
    })
}
