//! Gates of fields of custom resources, through the server.

mod conversion;
#[path = "../../../../lockstep-fieldgate/tests/rows/definition.rs"]
mod definition;
mod definitions;
mod migration;
mod rows;
mod schemas;
mod two_servers;
mod world;
