//! The API server: everything between a socket and a store.
//!
//! `transport` accepts connections and ends them in order; `frame` gives each request an id, a
//! deadline, a user and a permission, and each answer its headers; `endpoints` answers what is not
//! about resources, [`resources`] what is, from the memory that [`cache`] keeps. [`crd`] decides what
//! is served besides what is [`builtin`], and [`discovery`] tells. [`trust`] makes and reads
//! certificates, [`webhooks`] calls other servers. [`ApiServer::run`] ties them together.

pub mod accounts;
pub mod audit;
mod authn_host;
pub mod authz;
mod blocking_pool;
mod clock;
pub mod crd;
mod endpoints;
pub mod expressions;
mod failure;
mod featuregates;
mod frame;
pub mod limits;
mod loops;
mod metrics;
mod openapi;
mod request;
pub mod resources;
mod response;
mod reviews;
pub mod route;
mod server;
mod standard;
mod start;
mod transport;
pub mod version;
pub mod views;
pub mod webhooks;
mod whole;
mod write;

pub use endpoints::{BoxFuture, Handler, Milestone};
pub use failure::respond;
pub use frame::Notes;
pub use lockstep_authn::{
    self as authn, CredentialError, CredentialFiles, Credentials, oidc, trust,
};
pub use lockstep_builtins::services::ServiceRange;
pub use lockstep_catalog::{builtin, discovery};
pub use lockstep_controllers::Switches;
pub use lockstep_watchcache::{self as cache, stored};
pub use loops::LoopConfig;
pub use request::{BodyError, Query, Request, RequestBody, RequestInfo, ResourcePath};
pub use response::{Response, ResponseBody, Stream, bytes, text};
pub use server::{ApiServer, Config};
pub use transport::{TlsVersion, bind};
pub use whole::Whole;
pub use write::admission;
