//! A user, as rules and logs see one.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Everybody who proved who they are.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// Everybody else.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of everybody else.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// Who does something.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct User {
    /// The name.
    pub name: String,
    /// An identifier that outlives the name; may be empty.
    pub uid: String,
    /// The groups, in the order in which they were given.
    pub groups: Vec<String>,
    /// What else is known.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user who proved to be one: in the given groups and in that of all such users.
    pub(crate) fn authenticated(name: String, uid: String, mut groups: Vec<String>) -> Self {
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

    /// Who presented nothing.
    pub fn anonymous() -> Arc<Self> {
        static NOBODY: LazyLock<Arc<User>> = LazyLock::new(|| {
            Arc::new(User {
                name: ANONYMOUS.to_owned(),
                groups: vec![UNAUTHENTICATED.to_owned()],
                ..User::default()
            })
        });
        Arc::clone(&NOBODY)
    }

    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }
}
