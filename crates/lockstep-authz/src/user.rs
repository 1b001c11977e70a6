//! The authenticated user of a request.

/// Group whose members bypass authorization.
pub const MASTERS_GROUP: &str = "system:masters";

/// The name and groups that decisions are about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// `alice`, `system:serviceaccount:ns:name`.
    pub name: Box<str>,
    /// All groups, `system:authenticated` or `system:unauthenticated` included.
    pub groups: Vec<Box<str>>,
}

impl User {
    /// A user in groups.
    pub fn new(name: &str, groups: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        Self {
            name: name.into(),
            groups: groups.into_iter().map(Into::into).collect(),
        }
    }

    /// True if the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member| **member == *group)
    }

    /// True if the user is in `system:masters`, which bypasses authorization.
    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS_GROUP)
    }
}
