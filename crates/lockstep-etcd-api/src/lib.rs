//! etcd's v3 gRPC API: messages, clients, servers, and their conversion to the MVCC machine's types.
//!
//! The generated code ([`etcdserverpb`], [`mvccpb`], [`authpb`]) comes from the definitions in
//! `proto/` by `cargo xtask gen`. It speaks etcd 3.7's messages: same packages, names and numbers.
//!
//! The rest is pure conversion in both directions, shared by server and client:
//!
//! - requests are in [`request`];
//! - responses are in [`response`];
//! - watch requests and events are in [`watch`];
//! - errors are [`EtcdError`], by the code and text that clients match on.

#[path = "gen/mod.rs"]
mod generated;

mod error;
pub mod request;
pub mod response;
pub mod watch;

pub use error::{EtcdError, EtcdErrorCode};
pub use generated::descriptors::DESCRIPTORS;
pub use generated::{authpb, etcdserverpb, mvccpb};
