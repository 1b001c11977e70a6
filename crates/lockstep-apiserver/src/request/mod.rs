//! A request, as handlers see it.

mod body;
mod info;
mod query;

use std::net::SocketAddr;
use std::sync::Arc;

use http::{HeaderMap, Method, Uri};
use tokio_util::sync::CancellationToken;

pub use body::{BodyError, RequestBody};
pub use info::{RequestInfo, ResourcePath};
pub use query::Query;

use crate::authn::User;
use crate::frame::Notes;

/// One request after the frame around it has looked at it.
#[derive(Debug)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The target as it came.
    pub uri: Uri,
    /// The headers. `Authorization` and impersonation are gone: nobody behind the frame needs them.
    pub headers: HeaderMap,
    /// The query, decoded.
    pub query: Query,
    /// What is asked of what.
    pub info: RequestInfo,
    /// On whose behalf the request is done.
    pub user: Arc<User>,
    /// The body; reading it is up to the handler.
    pub body: RequestBody,
    /// Where the handler leaves warnings, audit annotations and facts for metrics.
    pub notes: Arc<Notes>,
    /// Where the request came from.
    pub peer: SocketAddr,
    /// Fires when the server stops: an answer that has no end of its own ends then.
    pub stop: CancellationToken,
}
