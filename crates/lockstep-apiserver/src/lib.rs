//! The API server.

pub mod cache;
pub mod query;
pub mod route;
pub mod stored;
