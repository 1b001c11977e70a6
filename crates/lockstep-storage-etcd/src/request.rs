//! Requests with what etcd wants to know beside them.

use tonic::Request;
use tonic::metadata::MetadataValue;

/// A request that a member without a leader refuses at once, instead of letting it wait.
pub(crate) fn needs_leader<T>(message: T) -> Request<T> {
    let mut request = Request::new(message);
    let yes = MetadataValue::from_static("true");
    request.metadata_mut().insert("hasleader", yes);
    request
}
