//! Protobuf encoding of built-in kinds, driven by the table.
//!
//! [`decode`] returns all fields as JSON, including zero values; [`typed::read`](crate::typed::read) then drops the
//! omitted ones, as for JSON input. [`encode`] produces the bytes that Go's generated code would. [`Envelope`] is the
//! wire framing.

mod decode;
mod encode;
mod envelope;
mod special;
mod wire;

pub use decode::{DecodeError, decode};
pub use encode::{EncodeError, encode};
pub use envelope::{Envelope, EnvelopeError, MAGIC, wrap};
pub use wire::put_bytes;

/// Maximum nesting depth of messages.
pub const MESSAGE_DEPTH_MAX: usize = 200;
/// Maximum number of values in a message, at any depth.
pub const VALUES_MAX: usize = 1_000_000;
