//! The server over its wire, row by row of etcd-api.md.

mod harness;

mod http;
mod kv;
mod lease;
mod maintenance;
mod quota;
mod tls;
mod watch;
