//! Value types and text rules of the Kubernetes function libraries, free of the language itself.

pub mod re2;
