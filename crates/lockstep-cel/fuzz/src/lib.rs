//! The bodies of the fuzz targets, shared with the random tests that run on every compiler.

#[path = "../../tests/fuzz/generate.rs"]
pub mod generate;
#[path = "../../tests/fuzz/harness.rs"]
pub mod harness;
#[path = "../../tests/fuzz/words.rs"]
mod words;
