//! The store on etcd from outside: the contract, and what happens when members, connections and
//! certificates fail.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

mod contract;
mod endpoints;
mod etcd;
mod fake;
mod faults;
mod histories;
mod load;
mod proxy;
mod quota;
mod refused;
mod silence;
mod stale;
mod tls;
mod watches;
