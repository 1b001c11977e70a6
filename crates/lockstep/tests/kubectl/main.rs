//! kubectl on the real binary: one of 1.20 (api-machinery.md §15/kubectl-old) or a later one (§15/kubectl).

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

mod apply;
mod auth;
mod builtins;
mod crd_gates;
mod custom;
mod dropin;
mod field_gates;
mod run;
mod server;
mod tutorials;
mod verbs;
mod workloads;
