//! Encodings of one state, shared by those who are being sent the same.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

use super::Scope;

/// How many encodings of one state are shared. What is asked for in more ways is encoded again.
const SHARED_MAX: usize = 8;

/// Which encoding: of the objects of which scope, in which form (see [`Frame`](super::Frame)).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The scope.
    pub scope: Scope,
    /// The form.
    pub form: u64,
}

/// The encodings that somebody holds. Nothing is kept for those who may come.
#[derive(Default)]
pub(super) struct Encodings(Mutex<Vec<(Listing, Weak<Vec<u8>>)>>);

impl Encodings {
    /// An encoding that somebody holds, or a new one. Two who ask at once may both make it.
    pub(super) fn share<E>(
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

/// Another state has encodings of its own.
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
