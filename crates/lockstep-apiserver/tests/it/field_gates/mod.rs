//! Gates of fields of custom resources, through the server.

mod appliers;
mod conversion;
#[path = "../../../../lockstep-fieldgate/tests/rows/definition.rs"]
mod definition;
mod definitions;
mod gated;
mod migration;
mod races;
mod reads;
mod rows;
mod schemas;
mod sequences;
mod twins;
mod two_servers;
