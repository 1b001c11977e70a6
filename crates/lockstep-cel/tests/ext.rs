//! The value modules, checked against tables of facts in `ext/cases` and against properties.

#[path = "ext/properties.rs"]
mod properties;
#[path = "ext/tables.rs"]
mod tables;
