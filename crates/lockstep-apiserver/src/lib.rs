//! The API server: everything between a socket and a handler.
//!
//! [`transport`] accepts connections and ends them in order; [`frame`] gives each request an id, a
//! deadline, a user and a permission, and each answer its headers; [`endpoints`] answers what is not
//! about resources. [`trust`] makes and reads certificates. [`ApiServer::run`] ties them together.

pub mod audit;
pub mod authn;
pub mod authz;
mod clock;
mod credentials;
mod endpoints;
mod failure;
mod frame;
pub mod limits;
mod metrics;
mod request;
mod response;
mod server;
mod transport;
pub mod trust;
pub mod version;

pub use credentials::{CredentialError, CredentialFiles, Credentials};
pub use endpoints::{BoxFuture, Handler, Milestone};
pub use failure::respond;
pub use frame::{Notes, parse_go_duration};
pub use request::{BodyError, Query, Request, RequestBody, RequestInfo, ResourcePath};
pub use response::{Response, ResponseBody, Stream, bytes, text};
pub use server::{ApiServer, Config};
pub use transport::{TlsVersion, bind};
