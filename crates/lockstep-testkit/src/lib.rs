//! Test support that several crates share: case files, processes, waiting, the rows of specifications.
//! Nothing that ships may use it.
//!
//! Without features there is no runtime in here, so that the tests of pure crates build none.

pub mod cases;
pub mod machine;
pub mod processes;
pub mod rows;
pub mod wait;
