//! The user of a request.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Group of all authenticated users.
pub const AUTHENTICATED_GROUP: &str = "system:authenticated";
/// Group of anonymous requests.
pub const UNAUTHENTICATED_GROUP: &str = "system:unauthenticated";
/// Group whose members bypass authorization.
pub const MASTERS_GROUP: &str = "system:masters";
/// User name of anonymous requests.
pub const ANONYMOUS_USER: &str = "system:anonymous";

/// The user of a request, as in `UserInfo`. Authentication makes it, and authorization decides by its name and groups.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// `alice`, `system:serviceaccount:ns:name`.
    pub name: String,
    /// An identifier that outlives the name; may be empty.
    pub uid: String,
    /// All groups in the order in which they were given, `system:authenticated` or `system:unauthenticated` included.
    pub groups: Vec<String>,
    /// Extra attributes, for instance the id of the credential.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Creates a user in exactly these groups.
    pub fn new(name: &str, groups: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            name: name.to_owned(),
            groups: groups.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Creates an authenticated user, who is also in `system:authenticated`. A credential may name the anonymous user
    /// or the group of unauthenticated users; neither gets the group.
    pub fn authenticated(name: String, uid: String, mut groups: Vec<String>) -> Self {
        let is_settled =
            |group: &String| group == AUTHENTICATED_GROUP || group == UNAUTHENTICATED_GROUP;
        if name != ANONYMOUS_USER && !groups.iter().any(is_settled) {
            groups.push(AUTHENTICATED_GROUP.to_owned());
        }
        Self {
            name,
            uid,
            groups,
            extra: BTreeMap::new(),
        }
    }

    /// The user of requests without credentials.
    pub fn anonymous() -> Arc<Self> {
        static USER: LazyLock<Arc<User>> =
            LazyLock::new(|| Arc::new(User::new(ANONYMOUS_USER, [UNAUTHENTICATED_GROUP])));
        Arc::clone(&USER)
    }

    /// True if the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member| member == group)
    }

    /// True if the user is in `system:masters`, which bypasses authorization.
    pub fn is_master(&self) -> bool {
        self.is_in(MASTERS_GROUP)
    }
}
