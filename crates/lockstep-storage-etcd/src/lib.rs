//! The store on an etcd v3 cluster: [`EtcdStore`].
//!
//! Requests and watches travel over one HTTP/2 connection to one member; see the modules for what
//! happens when it fails:
//!
//! - `cluster`: which member is used, and what is asked again;
//! - `connection`: one member, and whether a lost request may have arrived;
//! - `verdict`: what an error says about a write: refused, not done, or unknown;
//! - `watch`: watches that go on where they were, at whatever member;
//! - `reads`, `writes`, `leases`, `horizon`: the contract's methods in etcd's words.
//!
//! Keys and values of answers are slices of the message they came in; nothing is copied, and the
//! message stays in memory as long as one of them does.

mod cluster;
mod connection;
mod horizon;
mod leases;
mod options;
mod reads;
mod request;
mod store;
mod tls;
mod verdict;
mod version;
mod watch;
mod writes;

pub use options::{IdentityFiles, Options, OptionsError, Timeouts, TlsFiles};
pub use store::{ConnectError, EtcdStore};
