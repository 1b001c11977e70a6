//! Request metadata.

use tonic::Request;
use tonic::metadata::MetadataValue;

/// A request with `hasleader` metadata: a member without a leader rejects it at once instead of blocking.
pub(crate) fn needs_leader<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    let yes = MetadataValue::from_static("true");
    request.metadata_mut().insert("hasleader", yes);
    request
}
