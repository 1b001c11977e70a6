//! The API server, from the listener to the store.
//!
//! `transport` accepts connections and shuts them down gracefully. `frame` is the filter chain: audit ID, deadline,
//! authentication, authorization, response headers. [`resources`] serves the resource API from the watch cache
//! ([`cache`]); `endpoints` serves all other paths. [`builtin`] and [`crd`] define the served resources, and
//! [`discovery`] lists them. [`trust`] manages certificates, [`webhooks`] calls webhooks. [`ApiServer::run`] runs it
//! all.

pub mod accounts;
pub mod audit;
mod authn_host;
pub mod authz;
mod clock;
mod compaction;
pub mod crd;
mod drain;
mod endpoints;
pub mod expressions;
mod failure;
mod fairness;
mod featuregates;
mod frame;
mod handler;
mod heavy_work;
mod in_flight;
pub mod limits;
mod loops;
mod metrics;
mod milestones;
mod openapi;
mod policy_status;
mod request;
pub mod resources;
mod response;
mod reviews;
pub mod route;
mod seats;
mod server;
mod standard;
mod start;
mod state;
mod transport;
mod turn;
pub mod version;
pub mod views;
pub mod webhooks;
mod whole;

pub use failure::respond;
pub use handler::{BoxFuture, Handler};
pub use lockstep_authn::{
    self as authn, CredentialError, CredentialFiles, Credentials, oidc, trust,
};
pub use lockstep_builtins::services::ServiceRange;
pub use lockstep_catalog::{builtin, discovery};
pub use lockstep_controllers::EnabledControllers;
pub use lockstep_watchcache as cache;
pub use lockstep_write::{admission, stored};
pub use loops::LoopConfig;
pub use milestones::Milestone;
pub use request::{BodyError, Notes, Query, Request, RequestBody, RequestInfo, ResourcePath};
pub use response::{Response, ResponseBody, Stream, bytes, text};
pub use server::{ApiServer, Config};
pub use transport::{TlsVersion, bind};
pub use whole::Whole;
