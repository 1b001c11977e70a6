//! Written by `cargo xtask gen` from the files in `proto/`.

#![allow(
    clippy::all,
    clippy::pedantic,
    clippy::allow_attributes_without_reason,
    missing_docs,
    unreachable_pub,
    reason = "generated code"
)]

#[rustfmt::skip]
pub mod authpb;
#[rustfmt::skip]
pub mod descriptors;
#[rustfmt::skip]
pub mod etcdserverpb;
#[rustfmt::skip]
pub mod mvccpb;
