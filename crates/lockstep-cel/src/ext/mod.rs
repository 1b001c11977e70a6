//! Value types and text formats of the Kubernetes function libraries, independent of CEL itself.

pub mod formats;
pub mod go_duration;
pub mod go_quote;
pub mod go_url;
pub mod ip;
pub mod number_text;
pub mod quantity;
pub mod re2;
pub mod semver;
pub mod text;
pub mod timestamp;
