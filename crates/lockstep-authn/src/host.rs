//! Reads and metrics that authentication needs from its API server.

use std::time::Duration;

use lockstep_object::Object;

/// The API server as authentication sees it.
///
/// Tokens of service accounts end with the objects that they are bound to, so that each use looks at those objects. All
/// of them are in the core group.
pub trait Host: Sync {
    /// An object in the watch cache, by plural name and key `[namespace/]name`.
    fn cached(&self, plural: &str, key: &str) -> Option<Object>;

    /// Revision of an object in the watch cache, which is cheaper than reading the object.
    fn cached_revision(&self, plural: &str, key: &str) -> Option<u64>;

    /// Waits until the watch cache holds every write acknowledged before the call; false if it could not.
    fn caught_up(&self) -> impl Future<Output = bool> + Send;

    /// Records the verification of an OIDC token: `result` is `success` or `failure`, `issuer` a digest of its URL.
    fn observe_oidc(&self, result: &str, issuer: &str, elapsed: Duration);
}
