//! API versions of a resource, and the one that objects are encoded in.

use std::ops::Deref;

use crate::Subresource;

/// One API version of a resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Version {
    /// The name, such as `v1`.
    pub name: Box<str>,
    /// True if requests for this version are answered.
    pub is_served: bool,
    /// Subresources of this version.
    pub subresources: Vec<Subresource>,
    /// The deprecation warning, if the version is deprecated.
    pub deprecation: Option<Box<str>>,
}

/// The version that objects of a resource are encoded in when they are written to the store.
///
/// [`Resource::encoding_version`](crate::Resource::encoding_version) is the only source of this value for a resource.
/// A version that an object *was* encoded in is not an `EncodingVersion`: it is read from the stored bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodingVersion(usize);

/// The versions of a resource in order of preference, with the one that is encoded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Versions {
    all: Box<[Version]>,
    encoding: EncodingVersion,
}

impl Version {
    /// Subresources of this version.
    pub fn parts(&self) -> &[Subresource] {
        &self.subresources
    }
}

impl EncodingVersion {
    /// The index into [`Versions`].
    pub fn index(self) -> usize {
        self.0
    }
}

impl Versions {
    /// Versions in order of preference. `encoding` is the index of the version that objects are encoded in.
    ///
    /// # Panics
    ///
    /// If `encoding` is not an index into `all`.
    pub fn new(all: Vec<Version>, encoding: usize) -> Self {
        assert!(encoding < all.len(), "the encoding version is one of them");
        Self {
            all: all.into(),
            encoding: EncodingVersion(encoding),
        }
    }

    pub(crate) fn encoding(&self) -> EncodingVersion {
        self.encoding
    }
}

impl Deref for Versions {
    type Target = [Version];

    fn deref(&self) -> &[Version] {
        &self.all
    }
}
