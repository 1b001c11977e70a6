//! Going on with a list that a limit cut off.

use bytes::{BufMut, BytesMut};
use lockstep_mvcc::{Range, RangeResponse, Revision};

/// The request for the page after `page`, which answered `range` at its revision; none if it was
/// the last.
///
/// The list must be in key order. `first_page` is the revision that the answer to the first page
/// told: all pages show that state. The count of a later page counts from its own start on.
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
