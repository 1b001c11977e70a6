//! Store on an etcd v3 cluster: [`EtcdStore`].
//!
//! Requests and watches use one HTTP/2 connection to one member. The modules handle its failure:
//!
//! - `cluster`: endpoint selection, failover and retries;
//! - `connection`: one member, and whether a lost request may have arrived;
//! - `call_error`: classification of errors: rejected, not applied, or unknown;
//! - `watch`: watches that resume on any member;
//! - `reads`, `writes`, `leases`, `horizon`: the methods of the contract.
//!
//! Keys and values of a response are slices of its message: nothing is copied, and the message stays in memory as
//! long as one of them.

mod call_error;
mod cluster;
mod connection;
mod horizon;
mod leases;
mod options;
mod reads;
mod request;
mod store;
mod tls;
mod version;
mod watch;
mod writes;

pub use options::{IdentityFiles, Options, OptionsError, Timeouts, TlsFiles};
pub use store::{ConnectError, EtcdStore};
