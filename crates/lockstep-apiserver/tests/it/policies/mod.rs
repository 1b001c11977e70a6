//! Admission policies in a server.

mod cases;
pub(crate) mod objects;
mod rules;
