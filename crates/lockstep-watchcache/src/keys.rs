//! Where objects lie in the store, and which of them a request is about.

use bytes::Bytes;
pub use lockstep_storage::BucketKey;

/// First segments below the prefix that hold several resources of the core group.
const SHARED_SEGMENTS: &[&[u8]] = &[b"services"];

/// Splits a key below the prefix into its bucket and the rest: `[namespace/]name`.
///
/// Custom resources lie below their group, which has a dot; so do built-in ones that upstream keeps
/// below a group. A key without a rest is no object and has no bucket.
pub(crate) fn split(key: &Bytes) -> Option<(Bytes, Bytes)> {
    let slash = |from: usize| Some(from + key.get(from..)?.iter().position(|&b| b == b'/')?);
    let first = slash(0)?;
    let segment = key.get(..first)?;
    let is_shared = segment.contains(&b'.') || SHARED_SEGMENTS.contains(&segment);
    let end = if is_shared { slash(first + 1)? } else { first };
    let rest = key.slice(end + 1..);
    (!rest.is_empty()).then(|| (key.slice(..end), rest))
}

/// Scope of a list or watch inside a bucket.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// All of them.
    All,
    /// Those of one namespace.
    Namespace(Box<str>),
    /// The one with this key: `[namespace/]name`.
    Object(Box<str>),
}

impl Scope {
    /// True if the scope contains an object with this key.
    #[inline]
    pub fn contains(&self, key: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => namespace_of(key) == Some(namespace.as_bytes()),
            Self::Object(wanted) => key == wanted.as_bytes(),
        }
    }

    /// Common prefix of the keys in the scope.
    pub(crate) fn start(&self) -> Bytes {
        match self {
            Self::All => Bytes::new(),
            Self::Namespace(namespace) => [namespace.as_bytes(), b"/"].concat().into(),
            Self::Object(key) => Bytes::copy_from_slice(key.as_bytes()),
        }
    }
}

/// The namespace in the key of an object; `None` for cluster-scoped objects.
#[inline]
pub(crate) fn namespace_of(key: &[u8]) -> Option<&[u8]> {
    let slash = key.iter().position(|&b| b == b'/')?;
    key.get(..slash)
}
