//! What people do with kubectl, on the real binary.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

mod apply;
mod auth;
mod builtins;
mod custom;
mod dropin;
mod server;
mod tutorials;
mod verbs;
mod workloads;
