//! The store on a directory from outside: the contract, crashes, and damaged files.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod contract;
mod crash;
mod damage;
mod folder;
mod inspect;
mod service;
mod workload;
