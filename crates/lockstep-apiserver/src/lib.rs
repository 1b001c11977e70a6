//! The API server.

pub mod cache;
