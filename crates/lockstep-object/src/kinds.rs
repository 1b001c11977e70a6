//! API coordinates: groups, versions, kinds and resources.

use std::fmt;

/// A group and one of its versions. The core group is the empty one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// `apps`, or nothing for the core group.
    pub group: Box<str>,
    /// `v1`
    pub version: Box<str>,
}

/// The text is not a valid `group/version`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unexpected GroupVersion string: {0}")]
pub struct GroupVersionError(String);

impl GroupVersion {
    /// The version of a group.
    pub fn new(group: impl Into<Box<str>>, version: impl Into<Box<str>>) -> Self {
        Self {
            group: group.into(),
            version: version.into(),
        }
    }

    /// Reads an `apiVersion`: `v1`, `apps/v1`. Nothing at all is the empty version of the core group.
    pub fn parse(api_version: &str) -> Result<Self, GroupVersionError> {
        match api_version.split_once('/') {
            None => Ok(Self::new("", api_version)),
            Some((_, version)) if version.contains('/') => {
                Err(GroupVersionError(api_version.to_owned()))
            }
            Some((group, version)) => Ok(Self::new(group, version)),
        }
    }

    /// A kind of this version.
    pub fn with_kind(&self, kind: impl Into<Box<str>>) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: self.version.clone(),
            kind: kind.into(),
        }
    }

    /// A resource of this version.
    pub fn with_resource(&self, resource: impl Into<Box<str>>) -> GroupVersionResource {
        GroupVersionResource {
            group: self.group.clone(),
            version: self.version.clone(),
            resource: resource.into(),
        }
    }
}

impl fmt::Display for GroupVersion {
    /// As `apiVersion` spells it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(&self.version)
    }
}

/// A kind in any version of its group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    /// The group, empty for core.
    pub group: Box<str>,
    /// `Widget`
    pub kind: Box<str>,
}

/// A resource in any version of its group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupResource {
    /// The group, empty for core.
    pub group: Box<str>,
    /// `widgets`
    pub resource: Box<str>,
}

/// A kind of one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionKind {
    /// The group, empty for core.
    pub group: Box<str>,
    /// `v1`
    pub version: Box<str>,
    /// `Widget`
    pub kind: Box<str>,
}

/// A resource of one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersionResource {
    /// The group, empty for core.
    pub group: Box<str>,
    /// `v1`
    pub version: Box<str>,
    /// `widgets`
    pub resource: Box<str>,
}

impl GroupKind {
    /// A kind of a group.
    pub fn new(group: impl Into<Box<str>>, kind: impl Into<Box<str>>) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }
}

impl GroupResource {
    /// A resource of a group.
    pub fn new(group: impl Into<Box<str>>, resource: impl Into<Box<str>>) -> Self {
        Self {
            group: group.into(),
            resource: resource.into(),
        }
    }
}

impl GroupVersionKind {
    /// A kind of a version.
    pub fn new(
        group: impl Into<Box<str>>,
        version: impl Into<Box<str>>,
        kind: impl Into<Box<str>>,
    ) -> Self {
        GroupVersion::new(group, version).with_kind(kind)
    }

    /// Without the kind.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.group.clone(), self.version.clone())
    }

    /// Without the version.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group.clone(), self.kind.clone())
    }
}

impl GroupVersionResource {
    /// A resource of a version.
    pub fn new(
        group: impl Into<Box<str>>,
        version: impl Into<Box<str>>,
        resource: impl Into<Box<str>>,
    ) -> Self {
        GroupVersion::new(group, version).with_resource(resource)
    }

    /// Without the resource.
    pub fn group_version(&self) -> GroupVersion {
        GroupVersion::new(self.group.clone(), self.version.clone())
    }

    /// Without the version.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.group.clone(), self.resource.clone())
    }
}

/// `name.group`, without the dot for the core group.
fn dotted(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    f.write_str(name)?;
    if group.is_empty() {
        return Ok(());
    }
    write!(f, ".{group}")
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.kind, &self.group)
    }
}

impl fmt::Display for GroupResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotted(f, &self.resource, &self.group)
    }
}

impl fmt::Display for GroupVersionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

impl fmt::Display for GroupVersionResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}/{}, Resource={}",
            self.group, self.version, self.resource
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_version_is_a_group_and_a_version() {
        assert_eq!(GroupVersion::parse("v1"), Ok(GroupVersion::new("", "v1")));
        assert_eq!(
            GroupVersion::parse("apps/v1"),
            Ok(GroupVersion::new("apps", "v1"))
        );
        assert_eq!(
            GroupVersion::parse("apps/v1").unwrap().to_string(),
            "apps/v1"
        );
        let error = GroupVersion::parse("a/b/c").unwrap_err();
        assert_eq!(error.to_string(), "unexpected GroupVersion string: a/b/c");
    }

    /// api-machinery.md §5/shape: core group has no `.group`
    #[test]
    fn names_carry_their_group_unless_it_is_core() {
        assert_eq!(
            GroupResource::new("ex.io", "widgets").to_string(),
            "widgets.ex.io"
        );
        assert_eq!(GroupKind::new("", "Pod").to_string(), "Pod");
        let gvk = GroupVersionKind::new("", "v1", "Event");
        assert_eq!(gvk.to_string(), "/v1, Kind=Event");
    }
}
