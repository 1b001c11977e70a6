//! The authenticated user.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Group of all authenticated users.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Group of anonymous requests.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// User name of anonymous requests.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// The user of a request, as in `UserInfo`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// The name.
    pub name: String,
    /// An identifier that outlives the name; may be empty.
    pub uid: String,
    /// The groups, in the order in which they were given.
    pub groups: Vec<String>,
    /// Extra attributes, for instance the id of the credential.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Creates an authenticated user, who is also in `system:authenticated`.
    pub fn authenticated(name: String, uid: String, mut groups: Vec<String>) -> Self {
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
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
        static USER: LazyLock<Arc<User>> = LazyLock::new(|| {
            Arc::new(User {
                name: ANONYMOUS.to_owned(),
                groups: vec![UNAUTHENTICATED.to_owned()],
                ..User::default()
            })
        });
        Arc::clone(&USER)
    }

    /// True if the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
