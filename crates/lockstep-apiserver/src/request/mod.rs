//! HTTP requests as handlers receive them.

mod body;
mod budget;
mod info;
mod notes;
mod query;

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, Method, Uri};
use tokio_util::sync::CancellationToken;

pub(crate) use budget::{BodyBudget, ConnectionBudget, sharer};

pub use body::{BodyError, RequestBody};
pub use info::{RequestInfo, ResourcePath};
pub(crate) use notes::FlowHeaders;
pub use notes::Notes;
pub use query::Query;

use crate::authn::User;

/// Right of a request to be served, given back on drop.
pub(crate) trait Turn: fmt::Debug + Send + Sync {
    /// Becomes what a watch holds until its initial events are sent.
    fn for_initial_events(self: Box<Self>) -> Option<Box<dyn Any + Send>>;
}

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
    /// Seats of the request, until its response is complete.
    pub(crate) turn: Option<Box<dyn Turn>>,
}
