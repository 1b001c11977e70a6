//! API versions of a resource, and the one that objects are encoded in.

use std::ops::{Deref, Index};

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

/// The position of a version in the [`Versions`] of its resource. It means nothing for another resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct VersionIndex(usize);

/// The version that objects of a resource are encoded in when they are written to the store.
///
/// [`Resource::encoding_version`](crate::Resource::encoding_version) is the only source of this value for a resource.
/// A version that an object *was* encoded in is a plain [`VersionIndex`], read from the stored bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodingVersion(VersionIndex);

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

impl VersionIndex {
    /// The first version in order of preference.
    pub const PREFERRED: Self = Self(0);

    /// The position in order of preference, for tables that a [`Strategy`](crate::Strategy) keeps beside the versions.
    pub fn position(self) -> usize {
        self.0
    }
}

impl EncodingVersion {
    /// The index into [`Versions`].
    pub fn index(self) -> VersionIndex {
        self.0
    }
}

impl Versions {
    /// Versions in order of preference. `encoding` is the position of the version that objects are encoded in.
    ///
    /// # Panics
    ///
    /// If `encoding` is not a position in `all`.
    pub fn new(all: Vec<Version>, encoding: usize) -> Self {
        assert!(encoding < all.len(), "the encoding version is one of them");
        Self {
            all: all.into(),
            encoding: EncodingVersion(VersionIndex(encoding)),
        }
    }

    /// The versions with their indexes.
    pub fn indexed(&self) -> impl Iterator<Item = (VersionIndex, &Version)> {
        let versions = self.all.iter().enumerate();
        versions.map(|(at, version)| (VersionIndex(at), version))
    }

    /// The index of the first version that `is_meant` accepts.
    pub fn find(&self, is_meant: impl Fn(&Version) -> bool) -> Option<VersionIndex> {
        let mut versions = self.indexed();
        versions.find_map(|(index, version)| is_meant(version).then_some(index))
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

impl Index<VersionIndex> for Versions {
    type Output = Version;

    fn index(&self, version: VersionIndex) -> &Version {
        &self.all[version.0]
    }
}
