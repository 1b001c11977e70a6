//! The API server.

pub mod builtin;
pub mod cache;
pub mod crd;
pub mod discovery;
pub mod query;
pub mod resources;
pub mod route;
pub mod stored;
