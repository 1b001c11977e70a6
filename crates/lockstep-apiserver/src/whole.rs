//! The bytes of a whole answer.

use bytes::{Bytes, BytesMut};

/// The bytes of a whole answer, in one piece or two: the second may be shared with other answers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Whole {
    head: Bytes,
    rest: Bytes,
}

impl Whole {
    /// Two pieces.
    pub fn of_two(head: impl Into<Bytes>, rest: impl Into<Bytes>) -> Self {
        Self {
            head: head.into(),
            rest: rest.into(),
        }
    }

    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.head.len() + self.rest.len()
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.rest.is_empty()
    }

    /// Everything in one piece; two are copied.
    pub fn joined(&self) -> Bytes {
        if self.rest.is_empty() {
            return self.head.clone();
        }
        let mut joined = BytesMut::with_capacity(self.len());
        joined.extend_from_slice(&self.head);
        joined.extend_from_slice(&self.rest);
        joined.freeze()
    }

    /// The next piece.
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
