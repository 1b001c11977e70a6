//! The server over its wire, row by row of etcd-api.md.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

mod harness;

mod gateway;
mod http;
mod kv;
mod lease;
mod maintenance;
mod quota;
mod tls;
mod transport;
mod watch;
