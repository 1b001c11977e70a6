//! Tests through the public interface: scripts, properties, and a reference model.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod language;
mod model;
mod properties;
mod scripts;
mod show;
