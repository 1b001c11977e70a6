//! What tests and benchmarks of several crates share. Nothing that ships may use it.

pub mod machine;
pub mod processes;
pub mod rows;
