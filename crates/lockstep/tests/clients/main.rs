//! What client libraries do, on the real binary: kube-rs and the Python client, on the embedded
//! store and on a real etcd, on one server and on two.

#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]
#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

mod apply;
mod crash;
mod encrypted;
#[path = "../etcd/mod.rs"]
mod etcd;
mod kube_rs;
mod python;
mod server;
mod two_servers;
mod widget;
