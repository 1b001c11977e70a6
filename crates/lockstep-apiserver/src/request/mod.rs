//! HTTP requests as handlers receive them.

mod body;
mod info;
mod notes;
mod query;

use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, Method, Uri};
use tokio_util::sync::CancellationToken;

pub use body::{BodyError, RequestBody};
pub use info::{RequestInfo, ResourcePath};
pub use notes::Notes;
pub use query::Query;

use crate::authn::User;

/// One request after the filter chain.
#[derive(Debug)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// Request target as received.
    pub uri: Uri,
    /// Headers without `Authorization` and impersonation headers, which no handler may use.
    pub headers: HeaderMap,
    /// Decoded query parameters.
    pub query: Query,
    /// Verb and resource.
    pub info: RequestInfo,
    /// Effective user, after impersonation.
    pub user: Arc<User>,
    /// Body, which the handler may read.
    pub body: RequestBody,
    /// Collects warnings, audit annotations and facts for metrics.
    pub notes: Arc<Notes>,
    /// Client address.
    pub peer: SocketAddr,
    /// Cancelled at shutdown, which ends unbounded responses.
    pub stop: CancellationToken,
}
