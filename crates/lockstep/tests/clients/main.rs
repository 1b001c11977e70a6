//! Client libraries against the real binary: kube-rs, the Python client and an operator of kopf, on the embedded
//! store and on a real etcd, on one server and on two.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

mod apply;
mod controllers;
mod crash;
mod deep;
mod encrypted;
mod field_gates;
mod kopf;
mod kube_rs;
mod python;
mod server;
mod two_servers;
mod widget;
