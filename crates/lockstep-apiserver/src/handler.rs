//! Handler of an embedding program.

use std::pin::Pin;
use std::sync::Arc;

use crate::request::Request;
use crate::response::Response;

/// Handler for `/api`, `/apis` and `/openapi` in place of the server's own resources, for embedding programs and tests.
/// Authentication, authorization, deadline and metrics apply before it runs; a panic inside becomes a 500.
pub type Handler = Arc<dyn for<'a> Fn(&'a mut Request) -> BoxFuture<'a, Response> + Send + Sync>;

/// Boxed future of a [`Handler`].
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
