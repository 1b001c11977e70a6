//! The webhook over HTTPS.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

mod cases;
mod limits;
mod reload;
mod reviews;
mod world;
