//! etcd's v3 gRPC API on a local data directory, as a cluster of one member.
//!
//! [`Server::start`] opens the data directory and binds the listeners; [`Server::run`] serves until shutdown. A
//! request is accepted by `listen`, routed by `dispatch`, decoded by `lockstep-etcd-api`, and executed by the
//! `Member`, which wraps the embedded store with limits, a quota and an identity.
//!
//! Watches have no queue: a stream reads the history when the client has consumed the previous message, so a client
//! that never reads costs one message.

mod config;
mod identity;
mod level;
mod member;
mod quota;
mod request_timeout;
mod rpc_error;

mod cluster;
mod kv;
mod lease;
mod maintenance;
mod range_stream;
mod snapshot;
mod watch;

mod dispatch;
mod gateway;
mod http_edge;
mod listen;
mod methods;
mod metrics;
mod unary;
mod workers;

mod compactor;
mod server;
mod stopping;

pub use compactor::{AutoCompaction, InvalidRetention};
pub use config::{Config, ETCD_VERSION, TlsFiles};
pub use level::{InvalidLevel, Level};
pub use listen::{Address, InvalidAddress};
pub use server::{Server, StartError};
pub use snapshot::{SnapshotError, read_snapshot};
