//! The server as clients meet it: over real TLS connections.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

mod accounts;
mod admission;
mod audit;
mod authentication;
mod bodies;
mod certificates;
mod compaction;
mod conversion;
mod credentials;
mod crowds;
mod drain;
mod emulation;
mod endpoints;
mod fairness;
mod featuregates;
mod field_gates;
mod forms;
mod frame;
mod gates;
mod health;
mod hostile;
mod loops;
mod oidc;
mod openapi;
mod own_writes;
mod permissions;
mod policies;
mod protobuf;
mod reviews;
mod roles;
mod routes;
mod server;
mod spellings;
mod standard;
mod version_one;
mod webhooks;
mod witness;
mod world;
mod zpages;
