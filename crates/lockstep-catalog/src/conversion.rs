//! Conversion of custom resources between versions by a webhook.

use std::pin::Pin;

use lockstep_object::{ApiError, Object};

/// A boxed future, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A permit to convert for a watch; dropping it admits the next watch.
pub type Turn = Box<dyn Send>;

/// The conversion webhook of a CRD. Implemented by the API server, which owns the connections.
pub trait ConversionWebhook: Send + Sync {
    /// Converts objects to the version with the `apiVersion` `desired`, and returns them in the same order.
    ///
    /// All objects have the same kind and version, which is not the desired one.
    fn convert<'a>(
        &'a self,
        objects: &'a [Object],
        desired: &'a str,
    ) -> BoxFuture<'a, Result<Vec<Object>, ApiError>>;

    /// Waits for a permit to convert for a watch. Only a few watches convert at a time, so that the others find the
    /// result of the same conversion in the cache instead of calling the webhook again.
    fn turn(&self) -> BoxFuture<'static, Option<Turn>>;
}
