//! Value types and text rules of the Kubernetes function libraries, free of the language itself.

pub mod quantity;
pub mod re2;
