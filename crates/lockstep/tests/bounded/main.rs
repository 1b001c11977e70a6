//! Servers that run for long: their memory, disk, descriptors and start time do not grow with their age. `cargo xtask
//! endurance`, `cargo xtask soak` and `cargo xtask hostile` run the same for longer.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]
#![expect(clippy::print_stdout, reason = "the tables are for people")]

mod disk_full;
mod endurance;
mod hostile;
mod neighbours;
mod outage;
mod requests;
mod server;
mod soak;
mod usage;
