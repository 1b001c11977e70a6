//! Outgoing HTTPS: one HTTP/1.1 client over TLS for webhooks, OIDC issuers, the command line and the dashboard.
//!
//! [`Server`] connects to one address and returns a [`Connection`]. [`Client`] adds the rules for webhooks: a
//! connection pool, limits on time and size, and error messages in the words of Go. [`Clients`] keeps one client for
//! each [`ClientConfig`]. A call never follows a redirect, uses no proxy, and sends only the credentials that its
//! caller put into the request.

mod client;
mod clients;
mod config;
mod connection;
mod error;
mod hangup;
mod query;
mod server;
mod trust;
mod unverified;

pub use client::{CallLimits, Client};
pub use clients::Clients;
pub use config::ConfigError;
pub use connection::{Connection, Failure, ResponseBody};
pub use error::{CallError, Problem, Unresolved};
pub use lockstep_object::webhook::{ClientConfig, ClientConfigError, Endpoint};
pub use query::query_value;
pub use server::{ConnectError, Server};
pub use trust::{ServerTrust, TlsError, tls_config};

use std::sync::Arc;

/// Host name or address, and port.
pub type Place = (String, u16);

/// Resolves a Service by namespace, name and port to the places to try, in order.
pub type ResolveService =
    Arc<dyn Fn(&str, &str, u16) -> Result<Vec<Place>, Unresolved> + Send + Sync>;
