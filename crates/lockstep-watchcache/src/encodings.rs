//! Encoded lists of one state, shared by concurrent responses.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::Scope;

/// Most encodings of one state that are shared; further ones are made for each response.
const SHARED_MAX: usize = 8;

/// Key of an encoded list: the scope, and the form as in [`Frame`](crate::Frame).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The scope.
    pub scope: Scope,
    /// The form.
    pub form: u64,
}

/// Encodings that a response still holds. They are weak references, so that idle lists cost no memory.
#[derive(Default)]
pub(crate) struct Encodings(Mutex<Vec<(Listing, Weak<Vec<u8>>)>>);

impl Encodings {
    /// Returns an encoding that is still held, or makes one. Concurrent callers may each make it.
    pub(crate) fn share<E>(
        &self,
        listing: Listing,
        encode: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Bytes, E> {
        let held = self.held(&listing);
        let shared = match held {
            Some(shared) => shared,
            None => {
                let made = Arc::new(encode()?);
                self.hold(listing, &made);
                made
            }
        };
        Ok(Bytes::from_owner(Shared(shared)))
    }

    fn held(&self, listing: &Listing) -> Option<Arc<Vec<u8>>> {
        let known = self.0.lock();
        let found = known.iter().find(|(known, _)| known == listing);
        found.and_then(|(_, held)| held.upgrade())
    }

    fn hold(&self, listing: Listing, made: &Arc<Vec<u8>>) {
        let mut known = self.0.lock();
        known.retain(|(known, held)| *known != listing && held.strong_count() > 0);
        if known.len() < SHARED_MAX {
            known.push((listing, Arc::downgrade(made)));
        }
    }
}

/// Starts empty, since a cloned state is about to change.
impl Clone for Encodings {
    fn clone(&self) -> Self {
        Self::default()
    }
}

struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
