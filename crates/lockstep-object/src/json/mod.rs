//! JSON decoding and encoding for the API: 64-bit integers or doubles, duplicate keys reported, depth limited.

mod decode;
mod encode;
mod order;
mod problem;

pub use decode::{DEPTH_MAX, DUPLICATES_MAX, DecodeError, Decoded, decode, normalise_numbers};
pub(crate) use decode::{Document, Format, Node, Place};
pub(crate) use encode::write_ordered;
pub use encode::{encode, encode_into, encode_ordered, encode_to_string};
pub use order::in_document_order;

use serde_json::Value;

/// Stack of a thread that handles objects: copying, comparing and dropping a value recurses as deep as it nests.
///
/// Objects nested [`DEPTH_MAX`] levels deep overflow the 2 MiB that threads have by default, in a build without
/// optimization, which ends the process.
pub const STACK_BYTES: usize = 8 << 20;

/// Reads a document that was accepted before, such as a stored object; none if it is no JSON.
///
/// The reader of `serde_json` alone would refuse what is nested deeper than 128 levels. It is tried first because it is
/// faster than [`decode`], whose list of duplicates is of no use here.
pub fn read(bytes: &[u8]) -> Option<Value> {
    let read = serde_json::from_slice(bytes).ok();
    read.or_else(|| decode(bytes).ok().map(|decoded| decoded.value))
}

/// Nesting depth of a value: a scalar is 0, `[]` is 1.
///
/// Values built in memory, for example by a patch, are checked with this before they are stored.
pub fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 0)];
    while let Some((value, depth)) = open.pop() {
        match value {
            Value::Array(elements) => {
                open.extend(elements.iter().map(|element| (element, depth + 1)));
            }
            Value::Object(entries) => open.extend(entries.values().map(|value| (value, depth + 1))),
            _ => {
                deepest = deepest.max(depth);
                continue;
            }
        }
        deepest = deepest.max(depth + 1);
    }
    deepest
}
