//! Buckets: key ranges that each hold the objects of one resource.

use bytes::Bytes;

/// The key range of one resource below the API server's prefix: `configmaps`, or `ex.io/widgets`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BucketKey(Bytes);

impl BucketKey {
    /// The bucket that starts with these key segments, joined by slashes.
    pub fn new(segments: impl Into<Bytes>) -> Self {
        Self(segments.into())
    }

    /// The segments as they appear in keys of the store.
    pub fn name(&self) -> &Bytes {
        &self.0
    }
}
