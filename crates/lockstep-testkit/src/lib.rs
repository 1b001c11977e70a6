//! Test support that several crates share: case files, processes, waiting, the rows of specifications, and with the
//! feature `net` an HTTP client, a webhook and certificates, and with `bodies` the bodies that cost most. Nothing that
//! ships may use it.
//!
//! Without features there is no runtime in here, so that the tests of pure crates build none. No server of ours is in
//! here either: the tests of every crate use this one, and would wait for the server with each change of it.

#[cfg(feature = "bodies")]
pub mod bodies;
pub mod cases;
#[cfg(feature = "net")]
pub mod certificates;
#[cfg(feature = "net")]
pub mod client;
pub mod machine;
pub mod processes;
pub mod rows;
pub mod wait;
#[cfg(feature = "net")]
pub mod webhook;
