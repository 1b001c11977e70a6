//! The store for others: etcd's v3 gRPC API on one directory, for one member.
//!
//! [`Server::start`] opens a directory and listens; [`Server::run`] serves until it is told to end.
//! A request comes in through `listen`, finds its service in `dispatch`, is translated by
//! `lockstep-etcd-api`, and ends at the `Member`, which is the embedded store
//! with limits, a quota and a name around it.
//!
//! Watches hold no queue: a stream reads the history when the client has taken what came before,
//! so a client that never reads costs what one message costs.

mod config;
mod identity;
mod level;
mod member;
mod quota;
mod request_timeout;

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
