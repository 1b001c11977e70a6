//! Objects of built-in kinds as protobuf, both ways, by the table alone.
//!
//! [`decode`] gives the fields of a message as JSON, zero values and all; [`typed::read`](crate::typed::read) then drops
//! those that mean nothing, as it does for JSON that came as such. [`encode`] writes what Go's generated code would
//! write. [`Envelope`] is what stands around a message on the wire.

mod decode;
mod encode;
mod envelope;
mod special;
mod wire;

pub use decode::{DecodeError, decode};
pub use encode::{EncodeError, encode};
pub use envelope::{Envelope, EnvelopeError, MAGIC, wrap};
pub use wire::put_bytes;

/// How deep messages may nest.
pub const MESSAGE_DEPTH_MAX: usize = 200;
/// How many values one message may hold, at any depth.
pub const VALUES_MAX: usize = 1_000_000;
