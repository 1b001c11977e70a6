//! The store on a directory from outside: the contract, crashes, and damaged files.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::print_stdout,
    reason = "a seed is shown to the person who repeats the run"
)]

mod compat;
mod contract;
mod crash;
mod damage;
mod disk;
mod folder;
mod histories;
mod inspect;
mod known_bugs;
mod limits;
mod power;
mod process;
mod restore;
mod rng;
mod service;
mod workload;
