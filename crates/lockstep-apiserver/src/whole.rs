//! Bytes of a complete response body.

use bytes::{Bytes, BytesMut};

/// Complete body in one or two chunks. The second may be shared with other responses.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Whole {
    head: Bytes,
    rest: Bytes,
}

impl Whole {
    /// Body of two chunks.
    pub fn of_two(head: impl Into<Bytes>, rest: impl Into<Bytes>) -> Self {
        Self {
            head: head.into(),
            rest: rest.into(),
        }
    }

    /// Number of remaining bytes.
    pub fn len(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// True if no bytes remain.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.rest.is_empty()
    }

    /// All bytes as one chunk; copies if there are two.
    pub fn joined(&self) -> Bytes {
        if self.rest.is_empty() {
            return self.head.clone();
        }
        let mut joined = BytesMut::with_capacity(self.len());
        joined.extend_from_slice(&self.head);
        joined.extend_from_slice(&self.rest);
        joined.freeze()
    }

    /// Takes the next chunk.
    pub(crate) fn take(&mut self) -> Option<Bytes> {
        let head = std::mem::replace(&mut self.head, std::mem::take(&mut self.rest));
        (!head.is_empty()).then_some(head)
    }
}

impl<B: Into<Bytes>> From<B> for Whole {
    fn from(bytes: B) -> Self {
        Self::of_two(bytes, Bytes::new())
    }
}
