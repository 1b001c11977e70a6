//! Gates of fields of custom resources, through the server.

#[path = "../../../../lockstep-fieldgate/tests/rows/definition.rs"]
mod definition;
mod definitions;
mod rows;
mod two_servers;
mod world;
