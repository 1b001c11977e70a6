//! etcd's v3 gRPC API: its messages, clients and servers, and what they mean to the MVCC machine.
//!
//! The generated code ([`etcdserverpb`], [`mvccpb`], [`authpb`]) comes from the definitions in
//! `proto/` by `cargo xtask gen`. It speaks etcd 3.7's messages: same packages, names and numbers.
//!
//! The rest is pure translation, in both directions, so that a server and a client share it:
//!
//! - [`request`]: what is asked for;
//! - [`response`]: what is answered;
//! - [`watch`]: what a watcher asks for and sees;
//! - [`Refusal`]: why not, by the code and the text that clients match on.

#[path = "gen/mod.rs"]
mod generated;

mod refusal;
pub mod request;
pub mod response;
pub mod watch;

pub use generated::descriptors::DESCRIPTORS;
pub use generated::{authpb, etcdserverpb, mvccpb};
pub use refusal::{Refusal, RefusalCode};
