//! The machine from outside: scripts, properties, and a naive model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod language;
mod model;
mod properties;
mod scripts;
mod show;
